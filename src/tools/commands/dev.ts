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
 * `dev`: serves when `--config` is given or there is a configuration file. Otherwise runs the demo.
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

/** Returns true when there is anything at the path. When it is a folder, `serve` reports the fault. */
async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}
