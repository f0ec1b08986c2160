import assert from "node:assert/strict";
import { fromFileUrl } from "../support/program/paths.ts";
import { runHistory } from "./history.ts";

/** The number of fixed seeds, which take about a minute; `task simulate` runs more. */
const SEEDS = 10;

const histories = new Map<number, ReturnType<typeof runHistory>>();

/** Returns the history of a seed, which is run once for all tests. */
function historyOf(seed: number): ReturnType<typeof runHistory> {
  const history = histories.get(seed) ?? runHistory(seed);
  histories.set(seed, history);
  return history;
}

Deno.test("no promise breaks in a fixed set of histories", async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await t.step(`seed ${seed}`, async () => {
      const { broken } = await historyOf(seed);
      assert.deepEqual(broken, [], `task simulate --seed ${seed}`);
    });
  }
});

/** A random seed. */
const FRESH = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

Deno.test("no promise breaks in the history of a random seed", async () => {
  const seed = FRESH;
  console.log(`The fresh seed is ${seed}`);
  const { broken } = await runHistory(seed);
  assert.deepEqual(broken, [], `task simulate --seed ${seed}`);
});

Deno.test("a seed gives the same history in every process", async () => {
  const one = await historyOf(7);
  const { digest: another } = await historyOf(8);
  const again = await runHistory(7);
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
