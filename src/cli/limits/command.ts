import type { LimitsList } from "../../limits/list.ts";
import { hasColours, inColour, withoutColour } from "../colours.ts";
import { type CliIo, EXIT } from "../io.ts";
import { drawLimits } from "./draw.ts";
import { LIMITS, type LimitsOptions, readLimitsOptions } from "./options.ts";
import { withOwnUse } from "../../http/page/own_use.js";
import {
  LimitsUnread,
  readLimits,
  type ReadLimitsTools,
  readUsage,
} from "./read.ts";
import { badUsage } from "../usage_error.ts";

/** What {@linkcode runLimits} works with. */
export interface LimitsTools extends CliIo, ReadLimitsTools {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Resolves after this many milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
  /** How many characters a line of the terminal holds; undefined when the output goes elsewhere. */
  readonly columns: () => number | undefined;
}

/**
 * `limits`: reads from a running gateway what is left of a token's quotas and draws it; with `--json`, prints
 * the list as one line; with `--watch`, goes on until it is interrupted.
 *
 * @returns The exit code.
 */
export async function runLimits(
  args: readonly string[],
  tools: LimitsTools,
): Promise<number> {
  const options = readLimitsOptions(args, tools.env);
  if ("fault" in options) {
    return badUsage(options.fault, LIMITS, tools);
  }
  return options.watch
    ? await watchLimits(options, tools)
    : await printLimits(options, tools);
}

async function printLimits(
  options: LimitsOptions,
  tools: LimitsTools,
): Promise<number> {
  const list = await tryRead(options, tools);
  if (list instanceof LimitsUnread) return EXIT.failed;
  tools.write(render(list, options, tools));
  return EXIT.good;
}

const DEFAULT_REFRESH_SECONDS = 60;

/** A day: a longer wait is no watching, and more than a timer holds. */
const MAX_REFRESH_SECONDS = 86_400;

/** Asks as often as the gateway allows, until what is wrong will not pass by itself. */
async function watchLimits(
  options: LimitsOptions,
  tools: LimitsTools,
): Promise<number> {
  let seconds = DEFAULT_REFRESH_SECONDS;
  while (true) {
    const list = await tryRead(options, tools);
    if (!(list instanceof LimitsUnread)) {
      seconds = refreshSeconds(list);
      tools.write(watched(render(list, options, tools), options, tools));
    } else if (!list.isPassing) return EXIT.failed;
    await tools.wait(seconds * 1000);
  }
}

function refreshSeconds(
  { refresh_after_seconds: seconds }: LimitsList,
): number {
  return Math.min(MAX_REFRESH_SECONDS, Math.max(1, seconds));
}

async function tryRead(
  options: LimitsOptions,
  tools: LimitsTools,
): Promise<LimitsList | LimitsUnread> {
  try {
    const list = await readLimits(options, tools);
    if (options.json) return list;
    const { usageUrl: url, token } = options;
    return withOwnUse(list, await readUsage({ url, token }, tools));
  } catch (error) {
    if (!(error instanceof LimitsUnread)) throw error;
    tools.writeError(`${error.message}\n`);
    return error;
  }
}

/** Wide enough for one line a window. */
const COLUMNS_OF_A_FILE = 120;

function render(
  list: LimitsList,
  { json }: LimitsOptions,
  { columns, env, now }: LimitsTools,
): string {
  if (json) return `${JSON.stringify(list)}\n`;
  const width = columns();
  return drawLimits(list, {
    columns: width ?? COLUMNS_OF_A_FILE,
    paint: hasColours(width !== undefined, env) ? inColour : withoutColour,
    nowMs: now(),
  });
}

/** Erases the screen and goes to its first line. */
const FRESH_SCREEN = "\x1b[2J\x1b[H";

/** A terminal shows the newest drawing alone; a file gets them all, each with its time. */
function watched(
  drawing: string,
  { json }: LimitsOptions,
  { columns, now }: LimitsTools,
): string {
  if (json) return drawing;
  return columns() === undefined
    ? `${new Date(now()).toISOString()}\n\n${drawing}\n`
    : FRESH_SCREEN + drawing;
}
