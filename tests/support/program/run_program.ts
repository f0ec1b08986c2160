import { fromFileUrl } from "./paths.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** The result of a program. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end, with the permissions of the executable. */
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

/** Returns the command that runs the program. */
export function programCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Deno.Command {
  const flags = [
    ...["--no-prompt", "--allow-net", "--allow-read", "--allow-env"],
    "--allow-write",
  ];
  return new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, "src/main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}
