import { countFree } from "@gateway/http1/deno";
import type { ServerConfig } from "../config/config.ts";
import type { Log } from "../observe/log.ts";

/** The descriptors of a request: one for the caller's connection, one for the provider's. */
const PER_REQUEST = 2;

/** The descriptors that the program itself needs, and that each thread needs in addition. */
const OWN = { program: 64, thread: 8 };

/** The most descriptors that the check opens. Usual limits are lower, so the check notices them. */
const MAX_TRIED = 4200;

/** Logs a warning when the configuration can need more descriptors than the process may open. */
export function checkDescriptors(
  { maxConcurrentRequests }: Pick<ServerConfig, "maxConcurrentRequests">,
  workers: number,
  log: Log,
): void {
  const needed = PER_REQUEST * maxConcurrentRequests + OWN.program +
    OWN.thread * workers;
  const free = countFree(Math.min(needed, MAX_TRIED));
  if (free === undefined) return;
  log.write("descriptors_low", {
    descriptors: free,
    descriptors_needed: needed,
  });
}
