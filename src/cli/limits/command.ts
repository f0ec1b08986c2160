import { withOwnUse } from "../../http/wording/own_use.js";
import type { QuotaList } from "../../quotas/list.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  ADDRESS_OPTIONS,
  type AskTools,
  GatewayUnread,
  NO_TOKEN,
  readGatewayAddress,
} from "../gateway_client.ts";
import { hasColours, inColour, withoutColour } from "../text.ts";
import { drawLimits } from "./draw.ts";
import { readLimits, readUsage } from "./read.ts";

/** What {@linkcode runLimits} works with. */
interface LimitsTools extends CliIo, AskTools {
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
  if (list instanceof GatewayUnread) return EXIT.failed;
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
    if (!(list instanceof GatewayUnread)) {
      seconds = refreshSeconds(list);
      tools.write(watched(render(list, options, tools), options, tools));
    } else if (!list.isPassing) return EXIT.failed;
    await tools.wait(seconds * 1000);
  }
}

function refreshSeconds(
  { refresh_after_seconds: seconds }: QuotaList,
): number {
  return Math.min(MAX_REFRESH_SECONDS, Math.max(1, seconds));
}

async function tryRead(
  options: LimitsOptions,
  tools: LimitsTools,
): Promise<QuotaList | GatewayUnread> {
  try {
    const list = await readLimits(options, tools);
    if (options.json) return list;
    const { usageUrl: url, token } = options;
    return withOwnUse(list, await readUsage({ url, token }, tools));
  } catch (error) {
    if (!(error instanceof GatewayUnread)) throw error;
    tools.writeError(`${error.message}\n`);
    return error;
  }
}

/** Wide enough for one line a window. */
const COLUMNS_OF_A_FILE = 120;

function render(
  list: QuotaList,
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

/** What the command line and the environment say of `limits`. */
interface LimitsOptions {
  /** Where the list is read, such as `http://127.0.0.1:8787/v1/limits`. */
  readonly url: string;
  /** Where the token's own use is read. */
  readonly usageUrl: string;
  readonly token: string;
  readonly json: boolean;
  readonly watch: boolean;
}

/** `limits`. */
export const LIMITS: CommandSpec = {
  name: "limits",
  summary: "draw what is left of a token's quotas, from a running gateway",
  options: [
    ...ADDRESS_OPTIONS,
    { name: "json", summary: "print the list as one line" },
    {
      name: "watch",
      summary: "draw it again whenever the gateway has news, until interrupted",
    },
  ],
};

/**
 * Reads the options of `limits`: an option wins over its environment variable.
 *
 * @param env Of the environment: `MODEL_GATEWAY_URL` and `MODEL_GATEWAY_TOKEN`.
 * @returns The options, or what is wrong with them, without the token.
 */
function readLimitsOptions(
  args: readonly string[],
  env: (name: string) => string | undefined,
): LimitsOptions | { readonly fault: string } {
  const read = readArguments(LIMITS, args);
  if ("fault" in read) return read;
  const { values, flags } = read;
  const address = readGatewayAddress(values, env);
  if ("fault" in address) return address;
  if (address.token === "") return { fault: NO_TOKEN };
  return {
    url: `${address.base}/v1/limits`,
    usageUrl: `${address.base}/v1/usage`,
    token: address.token,
    json: flags.has("json"),
    watch: flags.has("watch"),
  };
}
