import { parseArgs } from "node:util";
import { type Scale, USUAL_SCALE } from "./history.ts";
import type { RunPlan } from "./run.ts";
import { Thread } from "./thread.ts";
import { sceneNames } from "./scenes/mod.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1" },
    minutes: { type: "string" },
    sessions: { type: "string" },
    people: { type: "string" },
    about: { type: "string" },
    /** Scenes: `all`, a group, or a regular expression for their names. */
    scene: { type: "string" },
    /** The names of the only sessions and events that happen. */
    keep: { type: "string" },
    /** Searches for a smaller history that breaks the same promise. */
    shrink: { type: "boolean", default: false },
    "until-broken": { type: "boolean" },
    /** The real seconds after which no other run begins. */
    seconds: { type: "string", default: "Infinity" },
    /** The number of threads; by default, one a core. */
    jobs: { type: "string" },
  },
});
const plans = plansOf(options);
const startedMs = performance.now();
const tookSeconds = () => (performance.now() - startedMs) / 1000;
let requests = 0;
let virtualMs = 0;
let failed = 0;
let ran = 0;
const jobs = Number(options.jobs ?? navigator.hardwareConcurrency);
const isAlone = plans.length === 1;
await Promise.all(
  Array.from({ length: Math.min(jobs, plans.length) }, runInThread),
);
console.log(
  `${ran} histories, ${failed} failed; ${requests} requests, ${
    Math.round(requests / tookSeconds())
  } a second; ${
    (virtualMs / 3600_000 / (tookSeconds() / 60)).toFixed(1)
  } hours a minute`,
);
if (failed > 0) Deno.exitCode = 1;

/** Returns all runs that the options ask for, in reverse order. */
function plansOf(
  { scene, seed, seeds, about, shrink, ...given }: typeof options,
): RunPlan[] {
  const first = Number(seed ?? Math.floor(Math.random() * 1e9));
  const names = scene === undefined ? [undefined] : sceneNames(scene);
  const scale: Scale = {
    minutes: Number(given.minutes ?? USUAL_SCALE.minutes),
    sessions: Number(given.sessions ?? USUAL_SCALE.sessions),
    ...given.people === undefined ? {} : { people: Number(given.people) },
    ...given.keep === undefined ? {} : { kept: given.keep.split(",") },
  };
  return names.flatMap((name) =>
    Array.from({ length: Number(seeds) }, (_, at) => ({
      ...{ seed: first + at, scene: name, scale, about, isShrunk: shrink },
    }))
  ).reverse();
}

/** Takes runs from the list and runs them in a thread of its own, one after another. */
async function runInThread(): Promise<void> {
  using thread = new Thread();
  for (;;) {
    const isOver = tookSeconds() > Number(options.seconds) ||
      failed > 0 && options["until-broken"];
    const plan = isOver ? undefined : plans.pop();
    if (plan === undefined) return;
    const one = await thread.run(plan);
    ran++;
    requests += one.requests;
    virtualMs += one.virtualMs;
    if (isAlone) console.log(`seed ${plan.seed} has the digest ${one.digest}`);
    if (one.report.length > 0) failed++;
    for (const line of one.report) console.log(line);
  }
}
