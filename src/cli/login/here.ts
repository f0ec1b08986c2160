import { type CliIo, commandHelp, EXIT, isHelp } from "../command.ts";
import { LOGIN, runLogin } from "./command.ts";
import { openLogin } from "./kept_login.ts";

/** Runs `login` on this machine. @returns The exit code. */
export async function login(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  if (args.some(isHelp)) {
    io.write(commandHelp(LOGIN));
    return EXIT.good;
  }
  return await runLogin(args, {
    ...io,
    fetch,
    deadline: AbortSignal.timeout,
    now: Date.now,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    isTyped: () => Deno.stderr.isTerminal(),
    open: openLogin,
  });
}
