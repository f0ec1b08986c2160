import { parseArgs } from "node:util";
import { liveHistory } from "./history.ts";
import { liveScene, SCENES } from "./scenes/mod.ts";

const { seed, seeds, minutes, sessions, about, scene, ...flags } = parseArgs({
  args: Deno.args,
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    minutes: { type: "string" },
    sessions: { type: "string" },
    about: { type: "string" },
    scene: { type: "string" },
    "until-broken": { type: "boolean" },
  },
}).values;
const first = Number(seed ?? Math.floor(Math.random() * 1e9));
const count = Number(seeds ?? 1);
const scale = {
  minutes: Number(minutes ?? 30),
  sessions: Number(sessions ?? 25),
};
const startedMs = performance.now();
let requests = 0;
let virtualMs = 0;
let failed = 0;
const scenes = scene === "all"
  ? Object.keys(SCENES)
  : scene === undefined
  ? [undefined]
  : [scene];
const lives = scenes.flatMap((name) =>
  Array.from({ length: count }, (_, index) => ({ name, at: first + index }))
);
for (const { name, at } of lives) {
  const history = name === undefined
    ? await liveHistory(at, scale)
    : await liveScene(name, at);
  requests += history.requests;
  virtualMs += history.virtualMs;
  if (lives.length === 1) {
    console.log(`seed ${at} has the digest ${history.digest}`);
  }
  if (history.broken.length === 0) continue;
  failed++;
  const [broken = ""] = history.broken;
  console.log(`seed ${at} breaks ${history.broken.length} promises:`);
  for (const line of firstOfEach(history.broken)) console.log(`  ${line}`);
  const request = about ?? /#\d+/.exec(broken)?.[0];
  for (const line of history.trace.last(40, request)) console.log(line);
  const what = name === undefined
    ? `--minutes ${scale.minutes} --sessions ${scale.sessions}`
    : `--scene '${name}'`;
  console.log(`replay it: deno task simulate --seed ${at} ${what}`);
  if (flags["until-broken"]) break;
}
const seconds = (performance.now() - startedMs) / 1000;
console.log(
  `${lives.length} histories, ${failed} failed; ${requests} requests, ${
    Math.round(requests / seconds)
  } a second; ${
    (virtualMs / 3600_000 / (seconds / 60)).toFixed(1)
  } hours a minute`,
);
if (failed > 0) Deno.exitCode = 1;

/** Returns the first two lines of each promise. */
function firstOfEach(broken: readonly string[]): string[] {
  const byPromise = Map.groupBy(broken, (line) => line.split(": ")[0]);
  return [...byPromise.values()].flatMap((lines) => lines.slice(0, 2));
}
