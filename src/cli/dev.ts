import { findConfigPath } from "./config_path.ts";
import { runDemo } from "./demo.ts";
import type { CliIo } from "./io.ts";
import { runServe } from "./serve.ts";

/**
 * `dev`: serves where there is a configuration file, else the demo.
 *
 * @returns The exit code.
 */
export async function runDev(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const path = findConfigPath({ option: undefined, env: io.env });
  return await isFile(path) ? runServe(args, io) : runDemo(args, io);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}
