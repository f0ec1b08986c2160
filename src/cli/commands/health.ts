import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  askGateway,
  type AskTools,
  DEFAULT_URL,
  NoAnswer,
} from "../gateway_client.ts";

/** `health`. */
export const HEALTH: CommandSpec = {
  name: "health",
  summary:
    "ask a running gateway whether it takes requests; 1 when it does not",
  options: [{
    name: "url",
    value: "URL",
    summary:
      "the gateway or its listener with metrics; else http://127.0.0.1:8787",
  }],
};

/** Shorter than what those who ask regularly wait for the answer. */
const DEADLINE_MS = 3_000;

/**
 * `health [--url URL]`: asks `/readyz`, for whoever looks after a container.
 *
 * @returns The exit code.
 */
export async function runHealth(
  args: readonly string[],
  io: CliIo & AskTools,
): Promise<number> {
  const read = readArguments(HEALTH, args);
  if ("fault" in read) return badUsage(read.fault, HEALTH, io);
  const base = read.values.get("url") ?? DEFAULT_URL;
  if (!/^https?:\/\//i.test(base) || !URL.canParse(base)) {
    return badUsage(`--url must be a URL such as ${DEFAULT_URL}`, HEALTH, io);
  }
  const url = new URL("/readyz", base).href;
  const fault = await faultOf(url, io);
  if (fault === undefined) {
    io.write(`${url}: ready\n`);
    return EXIT.good;
  }
  io.writeError(`${url}: ${fault}\n`);
  return EXIT.failed;
}

async function faultOf(
  url: string,
  tools: AskTools,
): Promise<string | undefined> {
  try {
    const { status } = await askGateway(
      { url, deadlineMs: DEADLINE_MS },
      tools,
    );
    return status === 200 ? undefined : `HTTP ${status}`;
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return error.message;
  }
}
