import type { ServerConfig } from "../config/config.ts";
import { VERSION } from "../core/version.ts";
import { createAdminHandler } from "../http/admin.ts";
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
  serving: Omit<Serving, "stop">,
): Promise<Listener> {
  const { createProcessMetrics } = await import(
    "../observe/process_metrics.ts"
  );
  const { EXPOSITION_TYPE, formatExposition } = await import(
    "../observe/exposition.ts"
  );
  const process = createProcessMetrics({
    version: VERSION,
    startedAtMs: performance.timeOrigin,
    workers: serving.workers,
    replacements: serving.replacements,
    residentBytes: () => Deno.memoryUsage().rss,
  });
  return listen(
    { ...place, settings: SETTINGS },
    createAdminHandler({
      isReady: serving.isReady,
      metricsType: EXPOSITION_TYPE,
      metrics: async () =>
        await formatExposition([
          await process.collect(),
          ...await serving.snapshots(),
        ]),
    }),
  );
}
