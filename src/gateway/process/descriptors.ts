import { countFree } from "@gateway/http1/deno";
import type { ServerConfig } from "../config/config.ts";
import type { Log } from "../observe/log.ts";

/** The descriptors of a request: one for the caller's connection, one for the provider's. */
const PER_REQUEST = 2;

/** The descriptors of the program itself, and of each thread. */
const OWN = { program: 64, thread: 8 };

/** The most descriptors that the check opens. Common limits are lower. */
const MAX_TRIED = 4200;

/**
 * Logs a warning when the configuration can need more descriptors than the process may open. Opening them takes some
 * ten milliseconds, so the program checks when it already takes requests.
 */
export async function checkDescriptors(
  { maxConcurrentRequests }: Pick<ServerConfig, "maxConcurrentRequests">,
  workers: number,
  log: Log,
): Promise<void> {
  const needed = PER_REQUEST * maxConcurrentRequests + OWN.program +
    OWN.thread * workers;
  const free = await countFree(Math.min(needed, MAX_TRIED));
  if (free === undefined) return;
  log.write("descriptors_low", {
    descriptors: free,
    descriptors_needed: needed,
  });
}
