import type { CliIo, CommandSpec } from "../command.ts";
import { findConfigPath } from "./config_file.ts";
import { runDemo } from "./demo.ts";
import { runServe } from "./serve.ts";
import {
  CONFIG_OPTION,
  LISTENER_OPTIONS,
  readServeOptions,
} from "./serve_options.ts";

/** `dev`. */
export const DEV: CommandSpec = {
  name: "dev",
  summary: "serve if there is a gateway.yaml, else demo",
  options: [CONFIG_OPTION, ...LISTENER_OPTIONS],
};

/**
 * `dev`: serves where there is a configuration file or `--config` names one, else the demo.
 *
 * @returns The exit code.
 */
export async function runDev(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const options = readServeOptions(args);
  const isNamed = "config" in options;
  const path = findConfigPath({ option: undefined, env: io.env });
  return isNamed || await exists(path)
    ? await runServe(args, io)
    : await runDemo(args, io);
}

/** Whether anything is there; `serve` says what is wrong with what is no file. */
async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}
