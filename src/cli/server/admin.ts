import type { ServerConfig } from "../../config/config.ts";
import { systemTimers } from "../../core/time/timers.ts";
import { VERSION } from "../../core/version.ts";
import { createAdminHandler } from "../../http/admin.ts";
import type { Log } from "../../observe/log.ts";
import { keepListening } from "./keep_listening.ts";
import { listen, type Listener } from "./listen.ts";
import type { Serving } from "./serving.ts";

const SETTINGS = { host: "server.admin.host", port: "server.admin.port" };

/**
 * Opens the second listener, which tells of what is served.
 *
 * @throws {ListenError} As `listen()` does.
 */
export async function openAdmin(
  place: NonNullable<ServerConfig["admin"]>,
  { serving, log }: {
    readonly serving: Omit<Serving, "stop">;
    readonly log: Log;
  },
): Promise<Listener> {
  const { createProcessMetrics } = await import(
    "../../observe/process_metrics.ts"
  );
  const { EXPOSITION_TYPE, formatExposition } = await import(
    "../../observe/exposition.ts"
  );
  const process = createProcessMetrics({
    version: VERSION,
    startedAtMs: performance.timeOrigin,
    workers: serving.workers,
    replacements: serving.replacements,
    sharedStore: serving.sharedStore,
    residentBytes: () => Deno.memoryUsage().rss,
  });
  const handler = createAdminHandler({
    isReady: serving.isReady,
    sharedStore: serving.sharedStore,
    metricsType: EXPOSITION_TYPE,
    metrics: async () =>
      await formatExposition([
        await process.collect(),
        ...await serving.snapshots(),
      ]),
  });
  return keepListening({
    open: (port = place.port) =>
      listen({ ...place, port, settings: SETTINGS }, handler),
    log,
    timers: systemTimers,
  });
}
