import assert from "node:assert/strict";
import { fromFileUrl } from "../support/program/paths.ts";
import { liveHistory } from "./history.ts";

/** Seeds that every run lives, for about a minute; more with `task simulate`. */
const SEEDS = 10;

const lives = new Map<number, ReturnType<typeof liveHistory>>();

/** Lives a history, once for all tests. */
function lifeOf(seed: number): ReturnType<typeof liveHistory> {
  const life = lives.get(seed) ?? liveHistory(seed);
  lives.set(seed, life);
  return life;
}

Deno.test("no promise breaks in a fixed set of histories", async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await t.step(`seed ${seed}`, async () => {
      const { broken } = await lifeOf(seed);
      assert.deepEqual(broken, [], `task simulate --seed ${seed}`);
    });
  }
});

/** A seed that is another one in each run. */
const FRESH = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

Deno.test("no promise breaks in a new history", async () => {
  const seed = FRESH;
  console.log(`The fresh seed is ${seed}`);
  const { broken } = await liveHistory(seed);
  assert.deepEqual(broken, [], `task simulate --seed ${seed}`);
});

Deno.test("one seed is one history, in every process", async () => {
  const one = await lifeOf(7);
  const { digest: another } = await lifeOf(8);
  const again = await liveHistory(7);
  assert.equal(again.digest, one.digest);
  assert.equal(again.requests, one.requests);
  assert.notEqual(another, one.digest);
  assert.match(await simulated("7"), new RegExp(`digest ${one.digest}\n`));
});

/** Returns what `task simulate` prints about a seed. */
async function simulated(seed: string): Promise<string> {
  const main = fromFileUrl(new URL("main.ts", import.meta.url));
  const flags = ["--no-check", "--no-lock", "--allow-read", "--allow-env"];
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, main, "--seed", seed],
    stdin: "null",
    stderr: "inherit",
    signal: AbortSignal.timeout(60_000),
  }).output();
  return new TextDecoder().decode(stdout);
}
