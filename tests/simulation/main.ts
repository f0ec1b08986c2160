import { parseArgs } from "node:util";
import { type Scale, USUAL_SCALE } from "./history.ts";
import type { Life } from "./life.ts";
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
    /** Looks for a smaller history that breaks the same promise. */
    shrink: { type: "boolean", default: false },
    "until-broken": { type: "boolean" },
    /** The real seconds after which no other life begins. */
    seconds: { type: "string", default: "Infinity" },
    /** The number of threads, which live beside each other; default: one a core. */
    jobs: { type: "string" },
  },
});
const lives = livesOf(options);
const startedMs = performance.now();
const tookSeconds = () => (performance.now() - startedMs) / 1000;
let requests = 0;
let virtualMs = 0;
let failed = 0;
let lived = 0;
const jobs = Number(options.jobs ?? navigator.hardwareConcurrency);
const isAlone = lives.length === 1;
await Promise.all(
  Array.from({ length: Math.min(jobs, lives.length) }, liveInThread),
);
console.log(
  `${lived} histories, ${failed} failed; ${requests} requests, ${
    Math.round(requests / tookSeconds())
  } a second; ${
    (virtualMs / 3600_000 / (tookSeconds() / 60)).toFixed(1)
  } hours a minute`,
);
if (failed > 0) Deno.exitCode = 1;

/** Returns all lives that the options ask for, the first ones last. */
function livesOf(
  { scene, seed, seeds, about, shrink, ...given }: typeof options,
): Life[] {
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

/** Lives in a thread of its own what nobody else lives, one after another. */
async function liveInThread(): Promise<void> {
  using thread = new Thread();
  for (;;) {
    const isOver = tookSeconds() > Number(options.seconds) ||
      failed > 0 && options["until-broken"];
    const life = isOver ? undefined : lives.pop();
    if (life === undefined) return;
    const one = await thread.live(life);
    lived++;
    requests += one.requests;
    virtualMs += one.virtualMs;
    if (isAlone) console.log(`seed ${life.seed} has the digest ${one.digest}`);
    if (one.report.length > 0) failed++;
    for (const line of one.report) console.log(line);
  }
}
