import { VERSION } from "../core/version.ts";
import { runCheck } from "./check.ts";
import { runDemo } from "./demo.ts";
import { runDev } from "./dev.ts";
import { type CliIo, EXIT } from "./io.ts";
import { runLimits } from "./limits.ts";
import { runServe } from "./serve.ts";
import { terminalColumns } from "./terminal.ts";
import { runToken } from "./token.ts";

/** One subcommand. */
interface Command {
  readonly usage: string;
  readonly summary: string;
  run(args: readonly string[], io: CliIo): number | Promise<number>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    usage: "[serve] [--config FILE] [--host HOST] [--port PORT] [--log FORMAT]",
    summary: "serve what gateway.yaml says",
    run: runServe,
  },
  demo: {
    usage: "demo [--host HOST] [--port PORT] [--log FORMAT]",
    summary: "serve a built-in simulated provider: no file, no key, no network",
    run: runDemo,
  },
  dev: {
    usage: "dev [--config FILE] [--host HOST] [--port PORT] [--log FORMAT]",
    summary: "serve if there is a gateway.yaml, else demo",
    run: runDev,
  },
  check: {
    usage: "check [--config FILE] [--live]",
    summary: "print what gateway.yaml resolves to, or all of its problems",
    run: (args, io) =>
      runCheck(args, { ...io, fetch, deadline: AbortSignal.timeout }),
  },
  token: {
    usage: "token new NAME",
    summary: "make a token and the YAML that lets its owner in",
    run: runToken,
  },
  limits: {
    usage: "limits [--url URL] [--token TOKEN] [--json] [--watch]",
    summary: "draw what is left of a token's quotas, from a running gateway",
    run: (args, io) =>
      runLimits(args, {
        ...io,
        fetch,
        deadline: AbortSignal.timeout,
        now: Date.now,
        wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        columns: terminalColumns,
      }),
  },
};

/**
 * Runs the program as its command line says (docs/design.md#command-line).
 *
 * @param args The arguments without the program's name.
 * @returns The exit code: 0 good, 1 a failure at run time, 2 bad usage or bad configuration.
 */
export async function runCli(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const [first, ...rest] = args;
  if (
    first === "help" || args.some((one) => one === "--help" || one === "-h")
  ) {
    io.write(help());
    return EXIT.good;
  }
  if (first === "--version" || first === "-V") {
    io.write(`model-gateway ${VERSION}\n`);
    return EXIT.good;
  }
  if (first === undefined || first.startsWith("-")) {
    return await runServe(args, io);
  }
  const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  if (command === undefined) {
    io.writeError(`unknown command ${first}\n${help()}`);
    return EXIT.badUsage;
  }
  return await command.run(rest, io);
}

function help(): string {
  const commands = Object.values(COMMANDS)
    .map(({ usage, summary }) => `  model-gateway ${usage}\n      ${summary}\n`)
    .join("");
  return `usage:\n${commands}
  model-gateway --help | --version

The file is --config, else MODEL_GATEWAY_CONFIG, else ./gateway.yaml.
SIGHUP reads it again; SIGTERM and SIGINT drain, a second one stops at once.
limits asks --url, else MODEL_GATEWAY_URL, else http://127.0.0.1:8787, with --token, else
MODEL_GATEWAY_TOKEN, which other users of the machine do not see.
`;
}
