import { discard } from "../../streams/byte_reader.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import { connectionFault } from "../gateway_client.ts";
import type { ReadLimitsTools } from "../limits/read.ts";

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

const DEFAULT_URL = "http://127.0.0.1:8787";

/** Shorter than what those who ask regularly wait for the answer. */
const DEADLINE_MS = 3_000;

/**
 * `health [--url URL]`: asks `/readyz`, for whoever looks after a container.
 *
 * @returns The exit code.
 */
export async function runHealth(
  args: readonly string[],
  io: CliIo & ReadLimitsTools,
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
  { fetch, deadline }: ReadLimitsTools,
): Promise<string | undefined> {
  try {
    const answer = await fetch(url, {
      redirect: "manual",
      signal: deadline(DEADLINE_MS),
    });
    discard(answer);
    return answer.status === 200 ? undefined : `HTTP ${answer.status}`;
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") {
      return `no answer in ${DEADLINE_MS} ms`;
    }
    return connectionFault(error) ?? "nothing answers there";
  }
}
