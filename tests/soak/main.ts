/**
 * Proves endurance: the real program before a scripted upstream, each in a process of its own, for some
 * minutes. Exits with 1 when anything was wrong. Run it with `deno task soak`, or for example
 * `deno task soak --minutes 10 --seed 7 --only traffic,hang-ups`.
 */
import { parseArgs } from "node:util";
import { createRandom } from "../support/fakes/random.ts";
import { soakBigAnswers } from "./big_answers.ts";
import { soakBodyMemory } from "./body_memory.ts";
import { soakCrowd } from "./crowd.ts";
import { soakEventLoop } from "./event_loop.ts";
import { createFindings } from "./findings.ts";
import { soakHangUps } from "./hang_ups.ts";
import { hasProc, startScene } from "./scene.ts";
import { soakSlowClients } from "./slow_clients.ts";
import { soakTraffic } from "./traffic.ts";

const { values: flags } = parseArgs({
  args: Deno.args,
  options: {
    minutes: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
  },
});
const minutes = Number(flags.minutes ?? 3);
const seed = Number(flags.seed ?? Date.now() % 100_000);
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error(
    "usage: deno task soak [--minutes N] [--seed N] [--only PART,…]",
  );
  Deno.exit(2);
}

/** What each is called when it is printed, with the numbers that the names of tests of the same begin with. */
const PARTS = {
  "traffic": { title: "traffic", run: soakTraffic },
  "hang-ups": { title: "hang-ups", run: soakHangUps },
  "slow-clients": { title: "slow clients", run: soakSlowClients },
  "crowd": { title: "crowd", run: soakCrowd },
  "event-loop": { title: "event loop", run: soakEventLoop },
  "body-memory": { title: "body memory", run: soakBodyMemory },
  "big-answers": { title: "big answers", run: soakBigAnswers },
} as const;

const only = flags.only?.split(",");
const findings = createFindings();
const random = createRandom(seed);
console.log(`Deno ${Deno.version.deno}, seed ${seed}`);
if (!hasProc) {
  console.log("Memory and descriptors are not measured: this is not Linux");
}

for (const [name, { title, run }] of Object.entries(PARTS)) {
  if (only !== undefined && !only.includes(name)) continue;
  console.log(`\n${title}`);
  await using scene = await startScene();
  try {
    await run({ scene, findings, random, minutes });
  } catch (error) {
    findings.fail(`${name} could not be finished: ${error}`);
  }
}

const width = Math.max(0, ...findings.rows.map(([what]) => what.length));
console.log("");
for (const [what, figure] of findings.rows) {
  console.log(`${what.padEnd(width)}  ${figure}`);
}
if (findings.faults.length > 0) {
  console.error(`\n${findings.faults.length} wrong:`);
  for (const fault of findings.faults) console.error(`- ${fault}`);
  Deno.exit(1);
}
console.log("\nNothing was wrong.");
