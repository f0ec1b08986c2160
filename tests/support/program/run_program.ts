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
  return await ranOf(programCommand(args, env));
}

/** Runs another program of this machine to its end. */
export async function runOther(
  name: string,
  args: readonly string[],
  options: Omit<Deno.CommandOptions, "args"> = {},
): Promise<Ran> {
  return await ranOf(
    new Deno.Command(name, { stdin: "null", ...options, args: [...args] }),
  );
}

async function ranOf(command: Deno.Command): Promise<Ran> {
  const { code, stdout, stderr } = await command.output();
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
    args: ["run", ...flags, "src/tools/main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}
