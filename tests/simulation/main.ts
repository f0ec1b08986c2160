import { parseArgs } from "node:util";
import {
  EVENT_KINDS,
  type History,
  liveHistory,
  type Scale,
} from "./history.ts";
import { liveScene, SCENES } from "./scenes/mod.ts";
import { promiseIn, shrink } from "./shrink.ts";

const {
  seed,
  seeds,
  minutes,
  sessions,
  about,
  scene,
  keep,
  without,
  seconds: most,
  ...flags
} = parseArgs({
  args: Deno.args,
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    minutes: { type: "string" },
    sessions: { type: "string" },
    about: { type: "string" },
    /** A regular expression for the names of scenes, or `all`. */
    scene: { type: "string" },
    /** The numbers of the only sessions that are lived. */
    keep: { type: "string" },
    /** The kinds of events that do not happen. */
    without: { type: "string" },
    /** Looks for a smaller history that breaks the same promise. */
    shrink: { type: "boolean" },
    "until-broken": { type: "boolean" },
    /** The real seconds after which no other life begins. */
    seconds: { type: "string" },
  },
}).values;
const first = Number(seed ?? Math.floor(Math.random() * 1e9));
const count = Number(seeds ?? 1);
const given: Scale = {
  minutes: Number(minutes ?? 30),
  sessions: Number(sessions ?? 25),
  ...keep === undefined ? {} : { kept: keep.split(",").map(Number) },
  ...without === undefined ? {} : {
    without: EVENT_KINDS.filter((kind) => without.split(",").includes(kind)),
  },
};
const names = scene === undefined
  ? [undefined]
  : Object.keys(SCENES).filter((name) =>
    scene === "all" || name === scene || new RegExp(scene).test(name)
  );
const lives = names.flatMap((name) =>
  Array.from({ length: count }, (_, index) => ({ name, at: first + index }))
);
const startedMs = performance.now();
let requests = 0;
let virtualMs = 0;
let failed = 0;
let lived = 0;
for (const { name, at } of lives) {
  if (performance.now() - startedMs > 1000 * Number(most ?? Infinity)) break;
  lived++;
  let scale = given;
  let history = name === undefined
    ? await liveHistory(at, scale)
    : await liveScene(name, at);
  requests += history.requests;
  virtualMs += history.virtualMs;
  if (lives.length === 1) {
    console.log(`seed ${at} has the digest ${history.digest}`);
  }
  if (history.broken.length === 0) continue;
  failed++;
  if (flags.shrink && name === undefined) {
    scale = await shrink(at, scale);
    history = await liveHistory(at, scale);
  }
  report(history, at, name === undefined ? optionsOf(scale) : sceneOf(name));
  if (flags["until-broken"]) break;
}
const seconds = (performance.now() - startedMs) / 1000;
console.log(
  `${lived} histories, ${failed} failed; ${requests} requests, ${
    Math.round(requests / seconds)
  } a second; ${
    (virtualMs / 3600_000 / (seconds / 60)).toFixed(1)
  } hours a minute`,
);
if (failed > 0) Deno.exitCode = 1;

/** Prints the promises that broke, the events of the request, and the command that replays it. */
function report({ broken, trace }: History, at: number, what: string): void {
  console.log(`seed ${at} breaks ${broken.length} promises:`);
  for (const line of firstOfEach(broken)) console.log(`  ${line}`);
  const request = about ?? /#\d+/.exec(broken[0] ?? "")?.[0];
  for (const line of trace.last(40, request)) console.log(line);
  console.log(`replay it: deno task simulate --seed ${at} ${what}`);
}

/** Returns the first two lines of each promise. */
function firstOfEach(broken: readonly string[]): string[] {
  const byPromise = Map.groupBy(broken, promiseIn);
  return [...byPromise.values()].flatMap((lines) => lines.slice(0, 2));
}

function optionsOf({ minutes, sessions, kept, without = [] }: Scale): string {
  return [
    `--minutes ${minutes} --sessions ${sessions}`,
    ...kept === undefined ? [] : [`--keep ${kept.join(",")}`],
    ...without.length === 0 ? [] : [`--without ${without.join(",")}`],
  ].join(" ");
}

function sceneOf(name: string): string {
  return `--scene '${name}'`;
}
