import {
  BadArguments,
  command,
  CommandFailed,
  type Run,
} from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  BAD_URL,
  DEFAULT_URL,
  gatewayBase,
  NoResponse,
  requestGateway,
  type RequestTools,
} from "../gateway_client.ts";
import { endSentence } from "@gateway/base/text";

/** The arguments and the help of `health`. */
export const HEALTH: CommandSpec = {
  name: "health",
  summary:
    "check that a running gateway takes requests; else the exit code is 1",
  options: [{
    name: "url",
    value: "URL",
    summary:
      "the gateway or its metrics listener; default http://127.0.0.1:8787",
  }],
};

/** The timeout of the response, shorter than the usual timeout of a health check. */
const DEADLINE_MS = 3_000;

/**
 * `health [--url URL]`: requests `/readyz`, as the health check of a container.
 *
 * @returns The exit code.
 */
export const runHealth: Run<CliIo & RequestTools> = command(
  HEALTH,
  async ({ values }, io) => {
    const base = gatewayBase(values.get("url") ?? DEFAULT_URL);
    if (base === undefined) throw new BadArguments(BAD_URL);
    const url = new URL("/readyz", base).href;
    const fault = await faultOf(url, io);
    if (fault !== undefined) {
      throw new CommandFailed(`${url} is not ready: ${endSentence(fault)}`);
    }
    io.write(`${url}: ready\n`);
    return EXIT.good;
  },
);

async function faultOf(
  url: string,
  tools: RequestTools,
): Promise<string | undefined> {
  try {
    const { status } = await requestGateway(
      { url, deadlineMs: DEADLINE_MS },
      tools,
    );
    return status === 200 ? undefined : `the response is HTTP ${status}`;
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    return error.message;
  }
}
