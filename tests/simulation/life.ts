import { type History, liveHistory, type Scale } from "./history.ts";
import { liveScene } from "./scenes/mod.ts";
import { promiseIn, shrink } from "./shrink.ts";
import type { Trace } from "./world/trace.ts";

/** What is to be lived: a history, or a scene. */
export interface Life {
  readonly seed: number;
  /** The name of the scene; absent for a history. */
  readonly scene: string | undefined;
  readonly scale: Scale;
  /** The request whose events a failure shows, such as `#17`; default: the first one in a broken promise. */
  readonly about: string | undefined;
  /** True when a smaller history is looked for that breaks the same promise. */
  readonly isShrunk: boolean;
}

/** What a life came to. */
export interface Lived {
  readonly requests: number;
  readonly virtualMs: number;
  readonly digest: number;
  /** The promises that broke, the events of a request, and the command that replays it; empty when none broke. */
  readonly report: readonly string[];
}

/** Lives a history or a scene, and describes what broke. */
export async function live(life: Life): Promise<Lived> {
  try {
    return await liveOut(life);
  } catch (cause) {
    return failedLife(life, cause);
  }
}

/** Describes a life that ended by an error of the world, or with its thread. */
export function failedLife(life: Life, cause: unknown): Lived {
  const stack = cause instanceof Error ? cause.stack : String(cause);
  const report = reportOf([`the world goes on: ${stack}`], life);
  return { requests: 0, virtualMs: 0, digest: 0, report };
}

async function liveOut(life: Life): Promise<Lived> {
  const { seed, scene, isShrunk } = life;
  const first = scene === undefined
    ? await liveHistory(seed, life.scale)
    : await liveScene(scene, seed);
  const { requests, virtualMs, digest } = first;
  const lived = { requests, virtualMs, digest, report: [] };
  if (first.broken.length === 0) return lived;
  if (scene !== undefined || !isShrunk) {
    return { ...lived, report: reportOf(first.broken, life, first.trace) };
  }
  const { scale, history } = await shrink(
    life.scale,
    (scale) => liveHistory(seed, scale),
  );
  return {
    ...lived,
    report: reportOf(history.broken, { ...life, scale }, history.trace),
  };
}

function reportOf(
  broken: History["broken"],
  life: Life,
  trace?: Trace,
): string[] {
  const { seed, scene, about = /#\d+/.exec(broken[0] ?? "")?.[0] } = life;
  const what = scene === undefined
    ? optionsOf(life.scale)
    : `--scene '${scene}'`;
  return [
    `seed ${seed} breaks ${broken.length} promises:`,
    ...firstOfEach(broken).map((line) => `  ${line}`),
    ...trace?.last(40, about) ?? [],
    `replay it: deno task simulate --seed ${seed} ${what}`,
  ];
}

/** Returns the first two lines of each promise. */
function firstOfEach(broken: readonly string[]): string[] {
  const byPromise = Map.groupBy(broken, promiseIn);
  return [...byPromise.values()].flatMap((lines) => lines.slice(0, 2));
}

function optionsOf(
  { minutes, sessions, people, kept }: Scale,
): string {
  return [
    `--minutes ${minutes} --sessions ${sessions}`,
    ...people === undefined ? [] : [`--people ${people}`],
    ...kept === undefined ? [] : [`--keep=${kept.join(",")}`],
  ].join(" ");
}
