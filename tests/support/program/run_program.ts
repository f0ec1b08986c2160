import { fromFileUrl } from "./paths.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** What a program left behind. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program with the permissions of the executable, up to its end. */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const { code, stdout, stderr } = await programCommand(args, env).output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

/** The program as a command, not started yet. */
export function programCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Deno.Command {
  const flags = ["--no-prompt", "--allow-net", "--allow-read", "--allow-env"];
  return new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, "src/main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}
