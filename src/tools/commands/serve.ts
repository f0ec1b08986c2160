import { findConfigPath, serveFile } from "@gateway/gateway/process";
import { command, type Run } from "../arguments.ts";
import type { CliIo, CommandSpec } from "../command.ts";
import {
  CONFIG_OPTION,
  exitCode,
  LISTENER_OPTIONS,
  readServeOptions,
} from "./serve_options.ts";

/** The arguments and the help of `serve`, the default command. */
export const SERVE: CommandSpec = {
  name: "serve",
  summary: "serve requests with gateway.yaml; the default command",
  options: [CONFIG_OPTION, ...LISTENER_OPTIONS],
  details: [
    "The program prints `listening on …` to standard error when it is ready. It reloads the\nconfiguration on SIGHUP, and when the file or a file named in it changes. SIGTERM and\nSIGINT drain; a second signal stops at once.",
  ],
};

/**
 * `serve`: serves requests as the configuration says, and applies its changes while running.
 *
 * @returns The exit code.
 */
export const runServe: Run<CliIo> = command(SERVE, async (read, io) => {
  const { config, ...options } = readServeOptions(read);
  const path = findConfigPath({ option: config, env: io.env });
  return exitCode(await serveFile(path, { options, io }));
});
