/**
 * Tests endurance. The real program and a scripted upstream run for some minutes, each in its own
 * process. The exit code is 1 for any fault. It is 3 without a fault, when the machine was too busy
 * to judge the measurements. Run it with `deno task soak`, or for example
 * `deno task soak --minutes 10 --seed 7 --only traffic,hang-ups`.
 */
import { parseArgs } from "node:util";
import { createRandom } from "../support/fakes/random.ts";
import { createFindings } from "./findings.ts";
import {
  busynessText,
  excuseOf,
  probeMachine,
  watchMachine,
} from "./machine.ts";
import { isPartName, type PartName, PARTS } from "./parts.ts";
import { divide, secondsOf } from "./plan.ts";
import { hasProc } from "./scene.ts";

const { values: flags } = parseArgs({
  args: Deno.args,
  options: {
    minutes: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
  },
});
const minutes = Number(flags.minutes ?? 8);
const seed = Number(flags.seed ?? Date.now() % 100_000);
const names = flags.only?.split(",") ?? Object.keys(PARTS);
const chosen = names.filter(isPartName);
if (
  !(minutes > 0) || !Number.isSafeInteger(seed) ||
  chosen.length < names.length
) {
  console.error(
    "usage: deno task soak [--minutes N] [--seed N] [--only PART,…]\n" +
      `parts: ${Object.keys(PARTS).join(", ")}`,
  );
  Deno.exit(2);
}

const budget = divide(
  60 * minutes,
  chosen.filter((name) => name !== "traffic").map((name) =>
    PARTS[name].duration
  ),
);
const expectedSeconds = (name: PartName) =>
  name === "traffic"
    ? budget.trafficSeconds
    : secondsOf(PARTS[name].duration, budget);
const totalSeconds = chosen.reduce(
  (sum, name) => sum + expectedSeconds(name),
  0,
);

const findings = createFindings();
const random = createRandom(seed);
console.log(`Deno ${Deno.version.deno}, seed ${seed}`);
console.log(
  `About ${(totalSeconds / 60).toFixed(1)} min, with ${
    (100 * budget.effort).toFixed(0)
  }% of the full counts: ${
    chosen.map((name) => `${name} ${expectedSeconds(name).toFixed(0)} s`)
      .join(", ")
  }`,
);
const before = await probeMachine();
console.log(`Before it begins: ${busynessText(before)}`);
if (excuseOf(before) !== undefined) {
  console.log(
    "The machine is busy: figures over their bounds are inconclusive.",
  );
}
if (!hasProc) {
  console.log("Memory and descriptors are not measured: this is not Linux.");
}

for (const name of chosen) {
  console.log(`\n${name}`);
  const began = performance.now();
  const watch = watchMachine();
  try {
    await PARTS[name].run({ findings, random, ...budget });
  } catch (error) {
    findings.fail(`Cannot finish ${name}: ${error}`);
  }
  const busyness = await watch.end();
  findings.judge(excuseOf(busyness));
  const seconds = (performance.now() - began) / 1000;
  console.log(`${seconds.toFixed(0)} s; ${busynessText(busyness)}`);
}

const width = Math.max(0, ...findings.rows.map(([what]) => what.length));
console.log("");
for (const [what, figure] of findings.rows) {
  console.log(`${what.padEnd(width)}  ${figure}`);
}
const { faults, inconclusive } = findings;
if (inconclusive.length > 0) {
  console.error(
    `\n${inconclusive.length} inconclusive; run it longer, with nothing else on the machine:`,
  );
  for (const sentence of inconclusive) console.error(`- ${sentence}`);
}
if (faults.length > 0) {
  console.error(`\n${faults.length} faults:`);
  for (const fault of faults) console.error(`- ${fault}`);
  Deno.exit(1);
}
if (inconclusive.length > 0) Deno.exit(3);
console.log("\nThere were no faults.");
