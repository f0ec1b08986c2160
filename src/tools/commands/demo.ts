import { type Config, loadConfig } from "@gateway/gateway/config";
import { serveConfig } from "@gateway/gateway/process";
import { formatProblem } from "@gateway/base/problems";
import { systemClock } from "@gateway/base/time/timers";
import { randomIds } from "@gateway/base/ids";
import { sha256Hex } from "@gateway/base/sha256";
import { demoConfigText } from "../demo/config.ts";
import { createDemoUpstream } from "../demo/upstream.ts";
import { BadArguments, command, type Run } from "../arguments.ts";
import type { CliIo, CommandSpec } from "../command.ts";
import {
  CONFIG_OPTION,
  exitCode,
  LISTENER_OPTIONS,
  readServeOptions,
} from "./serve_options.ts";

/** The arguments and the help of `demo`. */
export const DEMO: CommandSpec = {
  name: "demo",
  summary: "serve a built-in simulated provider: no file, no key, no network",
  options: LISTENER_OPTIONS,
};

/** The demo's token, as the README has it. It need not be secret: it gives access to the simulated provider only. */
const DEMO_TOKEN = "demo-token";

/**
 * `demo`: serves the built-in simulated provider of all three families. It needs no file, no key and no network.
 *
 * @returns The exit code.
 */
export const runDemo: Run<CliIo> = command(DEMO, async (read, io) => {
  const options = readServeOptions(read);
  if (options.config !== undefined) {
    throw new BadArguments("the demo reads no file. Leave --config out");
  }
  const loaded = await loadDemo(io);
  return exitCode(
    await serveConfig(loaded.config, {
      fetch: createDemoUpstream({ clock: systemClock, ids: randomIds }),
      ...{ options, io },
      onReady: (url) => io.writeError(welcome(url)),
    }),
  );
}, [CONFIG_OPTION, ...LISTENER_OPTIONS]);

/** Loads the demo's configuration. */
export async function loadDemo(
  { env }: Pick<CliIo, "env">,
): Promise<{ readonly config: Config }> {
  const loaded = await loadConfig(demoConfigText(sha256Hex(DEMO_TOKEN)), {
    env: env,
    readFile: (path) =>
      Promise.reject(new Error(`Cannot read ${path}: the demo has no files.`)),
    listFiles: () => Promise.resolve([]),
    nowMs: systemClock.now(),
  });
  if ("problems" in loaded) {
    throw new Error(loaded.problems.map(formatProblem).join("\n"));
  }
  return loaded;
}

function welcome(url: string): string {
  return `A simulated provider serves all requests; nothing leaves this machine. The token is ${DEMO_TOKEN}
Quotas, models and client settings are on the page ${url}/

curl ${url}/v1/chat/completions -H "authorization: Bearer ${DEMO_TOKEN}" \\
  -H "content-type: application/json" \\
  -d '{"model":"demo-a","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

curl ${url}/v1/messages -H "x-api-key: ${DEMO_TOKEN}" -H "anthropic-version: 2023-06-01" \\
  -H "content-type: application/json" \\
  -d '{"model":"demo-b","max_tokens":256,"messages":[{"role":"user","content":"Hello"}]}'

curl ${url}/v1/responses -H "authorization: Bearer ${DEMO_TOKEN}" \\
  -H "content-type: application/json" \\
  -d '{"model":"demo-c","stream":true,"input":"Hello"}'

curl ${url}/v1/models -H "authorization: Bearer ${DEMO_TOKEN}"

curl ${url}/v1/usage -H "authorization: Bearer ${DEMO_TOKEN}"

`;
}
