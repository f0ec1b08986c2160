import type { CliIo } from "../command.ts";
import { runLogin } from "./command.ts";
import { openLogin } from "./kept_login.ts";

/** Runs `login` on this machine. @returns The exit code. */
export function login(args: readonly string[], io: CliIo): Promise<number> {
  return runLogin(args, {
    ...io,
    fetch,
    deadline: AbortSignal.timeout,
    now: Date.now,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    isTyped: () => Deno.stderr.isTerminal(),
    open: openLogin,
  });
}
