import type { ServerConfig } from "../config/config.ts";
import { VERSION } from "../core/version.ts";
import { createAdminHandler } from "../http/admin.ts";
import type { Snapshot } from "../observe/metrics.ts";
import { listen, type Listener } from "./listen.ts";

/** The second listener. */
export interface Admin extends Listener {
  /** Counts a thread that died and was replaced. */
  workerReplaced(): void;
}

/** What the second listener tells of. */
export interface AdminOptions {
  /** Whether requests are taken. */
  isReady(): boolean;
  /** How many threads serve. */
  readonly workers: number;
  /** The metrics of every gateway that serves. */
  snapshots(): Promise<readonly Snapshot[]>;
}

const SETTINGS = { host: "server.admin.host", port: "server.admin.port" };

/**
 * Opens the second listener.
 *
 * @throws {ListenError} As `listen()` does.
 */
export async function openAdmin(
  place: NonNullable<ServerConfig["admin"]>,
  options: AdminOptions,
): Promise<Admin> {
  const { createProcessMetrics } = await import(
    "../observe/process_metrics.ts"
  );
  const { EXPOSITION_TYPE, formatExposition } = await import(
    "../observe/exposition.ts"
  );
  const process = createProcessMetrics({
    version: VERSION,
    startedAtMs: performance.timeOrigin,
    workers: options.workers,
    residentBytes: () => Deno.memoryUsage().rss,
  });
  const listener = listen(
    { ...place, settings: SETTINGS },
    createAdminHandler({
      isReady: options.isReady,
      metricsType: EXPOSITION_TYPE,
      metrics: async () =>
        await formatExposition([
          await process.collect(),
          ...await options.snapshots(),
        ]),
    }),
  );
  return { ...listener, workerReplaced: process.workerReplaced };
}
