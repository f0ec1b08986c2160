import type { ServerConfig } from "../config/config.ts";
import type { Log } from "../observe/log.ts";

/** The descriptors of a request: its caller's connection and its provider's. */
const PER_REQUEST = 2;

/** The descriptors of the program itself, and of each thread. */
const OWN = { program: 64, thread: 8 };

/** The most descriptors that are tried. A lower limit is common, and more would delay the start. */
const MAX_TRIED = 4200;

/** Logs a warning when the process may not open as many descriptors as the configuration can need. */
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

/**
 * Opens descriptors and closes them again. The limit itself is in `/proc`, which Deno reads only with all permissions.
 *
 * @returns The number that could be opened; `undefined` when `enough` are free.
 */
export function countFree(enough: number): number | undefined {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < enough) opened.push(Deno.openSync("/dev/null"));
    return undefined;
  } catch (error) {
    const isLimit = error instanceof Error && "code" in error &&
      error.code === "EMFILE";
    return isLimit ? opened.length : undefined;
  } finally {
    for (const one of opened) one.close();
  }
}
