import { type CliIo, commandHelp, EXIT, isHelp } from "../command.ts";
import type * as Network from "../../http1/deno/network_client.ts";
import { LOGIN, runLogin } from "./command.ts";
import { openLogin } from "./kept_login.ts";

/** Deno would load a module with a literal name before the program runs, and most logins need no network. */
const NETWORK =
  new URL("../../http1/deno/network_client.ts", import.meta.url).href;

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
      const { openNetworkClient }: typeof Network = await import(NETWORK);
      return await openNetworkClient(io.env).fetch(url, init);
    },
    deadline: AbortSignal.timeout,
    now: Date.now,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    isTyped: () => Deno.stderr.isTerminal(),
    open: openLogin,
  });
}
