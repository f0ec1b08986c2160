import type { ServerConfig } from "../../config/config.ts";
import type { Log } from "../../observe/log.ts";

/**
 * How many threads serve. Only Linux shares a port among them; elsewhere one serves, and the log says so when
 * the configuration wants more.
 */
export function workerCount(
  workers: ServerConfig["workers"],
  log: Log,
): number {
  const wanted = workers === "auto" ? navigator.hardwareConcurrency : workers;
  if (wanted === 1 || Deno.build.os === "linux") return wanted;
  log.write("workers_not_supported", { wanted, workers: 1 });
  return 1;
}
