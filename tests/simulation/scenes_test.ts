import assert from "node:assert/strict";
import { liveScene, SCENES } from "./scenes/mod.ts";

/** A seed that is another one in each run. */
const FRESH = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

Deno.test("every scene keeps its promises", async (t) => {
  for (const name of Object.keys(SCENES)) {
    await t.step(name, async () => {
      for (const seed of [1, FRESH]) {
        const { broken } = await liveScene(name, seed);
        const replay = `task simulate --seed ${seed} --scene '${name}'`;
        assert.deepEqual(broken, [], replay);
      }
    });
  }
});
