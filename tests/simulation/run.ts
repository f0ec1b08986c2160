import { type History, runHistory, type Scale } from "./history.ts";
import { runScene } from "./scenes/mod.ts";
import { promiseIn, shrink } from "./shrink.ts";
import type { Trace } from "./world/trace.ts";

/** One run of the simulation: a history, or a scene. */
export interface RunPlan {
  readonly seed: number;
  /** The name of the scene; absent for a history. */
  readonly scene: string | undefined;
  readonly scale: Scale;
  /** The request whose events a failure prints, such as `#17`; by default, the first in a broken promise. */
  readonly about: string | undefined;
  /** True to search for a smaller history that breaks the same promise. */
  readonly isShrunk: boolean;
}

/** The result of a run. */
export interface RunResult {
  readonly requests: number;
  readonly virtualMs: number;
  readonly digest: number;
  /** The broken promises, the events of a request, and the command that replays the run; empty if none broke. */
  readonly report: readonly string[];
}

/** Runs a history or a scene, and reports the broken promises. */
export async function run(plan: RunPlan): Promise<RunResult> {
  try {
    return await runOnce(plan);
  } catch (cause) {
    return failedRun(plan, cause);
  }
}

/** Returns the result of a run that threw, or whose thread died. */
export function failedRun(plan: RunPlan, cause: unknown): RunResult {
  const stack = cause instanceof Error ? cause.stack : String(cause);
  const report = reportOf([`the simulation failed: ${stack}`], plan);
  return { requests: 0, virtualMs: 0, digest: 0, report };
}

async function runOnce(plan: RunPlan): Promise<RunResult> {
  const { seed, scene, isShrunk } = plan;
  const first = scene === undefined
    ? await runHistory(seed, plan.scale)
    : await runScene(scene, seed);
  const { requests, virtualMs, digest } = first;
  const result = { requests, virtualMs, digest, report: [] };
  if (first.broken.length === 0) return result;
  if (scene !== undefined || !isShrunk) {
    return { ...result, report: reportOf(first.broken, plan, first.trace) };
  }
  const { scale, history } = await shrink(
    plan.scale,
    (scale) => runHistory(seed, scale),
  );
  return {
    ...result,
    report: reportOf(history.broken, { ...plan, scale }, history.trace),
  };
}

function reportOf(
  broken: History["broken"],
  plan: RunPlan,
  trace?: Trace,
): string[] {
  const { seed, scene, about = /#\d+/.exec(broken[0] ?? "")?.[0] } = plan;
  const what = scene === undefined
    ? optionsOf(plan.scale)
    : `--scene '${scene}'`;
  return [
    `seed ${seed} breaks ${broken.length} promises:`,
    ...firstOfEach(broken).map((line) => `  ${line}`),
    ...trace?.last(40, about) ?? [],
    `replay it: deno task simulate --seed ${seed} ${what}`,
  ];
}

/** Returns the first two lines of each broken promise. */
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
