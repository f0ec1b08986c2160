import { type CliIo, commandHelp, EXIT, isHelp } from "../command.ts";
import type * as Network from "@gateway/gateway/network";
import { LOGIN, runLogin } from "./command.ts";
import { openLogin } from "./kept_login.ts";

/** The module of the network. It is resolved at run time, so that Deno loads it only when a login needs the network. */
const NETWORK = import.meta.resolve("@gateway/gateway/network");

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
    async fetch(url, init) {
      const { openNetwork }: typeof Network = await import(NETWORK);
      return await openNetwork(io.env).fetch(url, init);
    },
    deadline: AbortSignal.timeout,
    now: Date.now,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    isTyped: () => Deno.stderr.isTerminal(),
    open: openLogin,
  });
}
