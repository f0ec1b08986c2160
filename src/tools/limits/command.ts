import { type OwnLimits, ownLimits, withOwnUse } from "@gateway/page/wording";
import type { QuotaList } from "@gateway/page/answers";
import { BadArguments, command, type Run } from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  ADDRESS_OPTIONS,
  type GatewayAddress,
  GatewayUnread,
  NO_TOKEN,
  readGatewayAddress,
  type RequestTools,
} from "../gateway_client.ts";
import { pageOf, type Screen } from "@gateway/base/text";
import { drawLimits } from "./draw.ts";
import { readLimits, readUsage } from "./read.ts";

interface LimitsTools extends CliIo, Screen, RequestTools {
  /** Resolves after this many milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
}

/** The arguments and the help of `limits`. */
export const LIMITS: CommandSpec = {
  name: "limits",
  summary:
    "draw what is left of a token's limits and quotas, from a running gateway",
  options: [
    ...ADDRESS_OPTIONS,
    { name: "json", summary: "print the list as one line" },
    {
      name: "watch",
      summary: "draw the list again at each refresh, until interrupted",
    },
  ],
};

/**
 * `limits`: reads the limits of a token and the quotas of its connections from a running gateway and draws what is
 * left. With `--json`, prints the list as one line. With `--watch`, repeats until the command is interrupted.
 *
 * @returns The exit code.
 */
export const runLimits: Run<LimitsTools> = command(LIMITS, (read, tools) => {
  const { values, flags } = read;
  const address = readGatewayAddress(values, tools.env);
  if (address.token === "") throw new BadArguments(NO_TOKEN);
  const options = { ...address, json: flags.has("json") };
  return flags.has("watch")
    ? watchLimits(options, tools)
    : printLimits(options, tools);
});

interface LimitsOptions extends GatewayAddress {
  readonly json: boolean;
}

async function printLimits(
  options: LimitsOptions,
  tools: LimitsTools,
): Promise<number> {
  tools.write(render(await readAll(options, tools), options, tools));
  return EXIT.good;
}

const DEFAULT_REFRESH_SECONDS = 60;

/** The longest time between two drawings: one day. The timer of a wait of weeks would overflow. */
const MAX_REFRESH_SECONDS = 86_400;

/**
 * Draws the limits as often as the gateway allows. Ends when a failure cannot pass by itself, or when the output is
 * closed.
 */
async function watchLimits(
  options: LimitsOptions,
  tools: LimitsTools,
): Promise<number> {
  let seconds = DEFAULT_REFRESH_SECONDS;
  while (true) {
    try {
      const reading = await readAll(options, tools);
      seconds = refreshSeconds(reading.list);
      const drawing = render(reading, options, tools);
      const isRead = tools.write(watched(drawing, options, tools));
      if (!isRead) return EXIT.good;
    } catch (error) {
      if (!(error instanceof GatewayUnread && error.isPassing)) throw error;
      tools.writeError(`${error.message}\n`);
    }
    await tools.wait(seconds * 1000);
  }
}

function refreshSeconds(
  { refresh_after_seconds: seconds }: QuotaList,
): number {
  return Math.min(MAX_REFRESH_SECONDS, Math.max(1, seconds));
}

/** The quotas of the connections, and the limits of the token if the gateway reports them. */
interface LimitsReading {
  readonly list: QuotaList;
  readonly own?: readonly OwnLimits[] | undefined;
}

async function readAll(
  options: LimitsOptions,
  tools: LimitsTools,
): Promise<LimitsReading> {
  const list = await readLimits(options, tools);
  if (options.json) return { list };
  const usage = await readUsage(options, tools);
  return { list: withOwnUse(list, usage), own: ownLimits(usage) };
}

function render(
  { list, own }: LimitsReading,
  { json }: LimitsOptions,
  tools: LimitsTools,
): string {
  return json
    ? `${JSON.stringify(list)}\n`
    : drawLimits(list, { ...pageOf(tools), own, nowMs: tools.now() });
}

/** Clears the screen and moves the cursor to its first line. */
const FRESH_SCREEN = "\x1b[2J\x1b[H";

/**
 * Prepares one drawing of `--watch`. On a terminal, the drawing replaces the previous drawing. In a file, the time is
 * written before each drawing.
 */
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
