import { type LastingListener, ListenError, serve } from "@gateway/http1/deno";
import { portOf } from "@gateway/base/safe_url";
import type { AdminPlace } from "../config/config.ts";
import { adminPort, MAX_PORT } from "../config/resolve/server.ts";
import { VERSION } from "@gateway/base/version";
import { createAdminHandler } from "../http/admin.ts";
import { type Serving, type ServingOptions, startServing } from "./serving.ts";
import { nextStopSignal } from "./signals.ts";

/** The options of {@linkcode runServer}. */
interface ServerRun extends ServingOptions {
  readonly io: {
    /** Writes to standard error. */
    readonly writeError: (text: string) => void;
  };
  /** Starts the gateway; default: one gateway in this thread. */
  readonly start?: (options: ServingOptions) => Promise<Serving>;
  /** Called when the gateway listens, before the ready line. */
  readonly onReady?: (url: string) => void;
}

/**
 * Serves until SIGTERM or SIGINT, then drains: `/readyz` reports the drain at once, new requests are rejected, and
 * running requests are cut after `drain_seconds`. A second signal ends the drain at once.
 *
 * @returns "cannot_listen" when the start of a listener failed.
 */
export async function runServer(
  run: ServerRun,
): Promise<"stopped" | "cannot_listen"> {
  const { io, onReady, server, start = startServing } = run;
  let serving: Serving;
  let admin: LastingListener | undefined;
  try {
    serving = await start(run);
    admin = server.admin &&
      await openAdmin(server.admin, { ...run, serving });
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    io.writeError(`${error.message}\n`);
    return "cannot_listen";
  }
  const stopSignal = nextStopSignal();
  if (admin !== undefined) io.writeError(`metrics on ${admin.url}/metrics\n`);
  onReady?.(serving.url);
  io.writeError(`listening on ${serving.url}\n`);
  await stopSignal;
  await serving.stop(nextStopSignal());
  return "stopped";
}

const SETTINGS = { host: "server.admin.host", port: "server.admin.port" };

/**
 * Opens the second listener, for metrics and health checks.
 *
 * @throws {ListenError} As `serve()` does.
 */
async function openAdmin(
  place: AdminPlace,
  { serving, liveConfig, log }: Pick<ServerRun, "liveConfig" | "log"> & {
    readonly serving: Omit<Serving, "stop">;
  },
): Promise<LastingListener> {
  const { createProcessMetrics, EXPOSITION_TYPE, formatExposition } =
    await import("../observe/exposition.ts");
  const process = createProcessMetrics({
    version: VERSION,
    startedAtMs: performance.timeOrigin,
    workers: serving.workers,
    replacements: serving.replacements,
    sharedStore: serving.sharedStore,
    residentBytes: () => Deno.memoryUsage().rss,
    limits: () => liveConfig.current().server,
  });
  const handler = createAdminHandler({
    isReady: serving.isReady,
    hasShortage: serving.hasShortage,
    sharedStore: serving.sharedStore,
    metricsType: EXPOSITION_TYPE,
    metrics: async () =>
      await formatExposition([
        await process.collect(),
        ...await serving.snapshots(),
      ]),
  });
  const own = adminPort(place, portOf(serving.url));
  if (own > MAX_PORT) {
    throw new ListenError(
      `Cannot listen on port ${own}: the largest port is ${MAX_PORT}. Choose a smaller server.admin.port_offset.`,
    );
  }
  const at = { host: place.host, port: own, settings: SETTINGS };
  return serve(at, handler, { log });
}
