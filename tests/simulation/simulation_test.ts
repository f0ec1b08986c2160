import assert from "node:assert/strict";
import { liveHistory } from "./history.ts";

/** Seeds that every run lives; more with `task simulate`. */
const SEEDS = 40;

Deno.test("no promise breaks in a fixed set of histories", async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await t.step(`seed ${seed}`, async () => {
      const { broken } = await liveHistory(seed);
      assert.deepEqual(broken, [], `task simulate --seed ${seed}`);
    });
  }
});

Deno.test("no promise breaks in a history that nobody has seen", async () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const { broken } = await liveHistory(seed);
  assert.deepEqual(broken, [], `task simulate --seed ${seed}`);
});

Deno.test("one seed is one history", async () => {
  const [one, other] = [await liveHistory(7), await liveHistory(7)];
  assert.equal(one.digest, other.digest);
  assert.equal(one.requests, other.requests);
  assert.notEqual(one.digest, (await liveHistory(8)).digest);
});
