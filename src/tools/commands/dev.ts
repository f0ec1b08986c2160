import { command, type Run } from "../arguments.ts";
import type { CliIo, CommandSpec } from "../command.ts";
import { findConfigPath } from "@gateway/gateway/process";
import { runDemo } from "./demo.ts";
import { runServe } from "./serve.ts";
import {
  CONFIG_OPTION,
  LISTENER_OPTIONS,
  readServeOptions,
} from "./serve_options.ts";

/** The arguments and the help of `dev`. */
export const DEV: CommandSpec = {
  name: "dev",
  summary: "serve if there is a gateway.yaml, else run the demo",
  options: [CONFIG_OPTION, ...LISTENER_OPTIONS],
};

/**
 * `dev`: serves when there is a configuration file or `--config` names one, else runs the demo.
 *
 * @returns The exit code.
 */
export const runDev: Run<CliIo> = command(DEV, async (read, io, args) => {
  const isNamed = readServeOptions(read).config !== undefined;
  const path = findConfigPath({ option: undefined, env: io.env });
  return isNamed || await exists(path)
    ? await runServe(args, io)
    : await runDemo(args, io);
});

/** Returns true when the path exists, even as a folder: `serve` reports that fault. */
async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}
