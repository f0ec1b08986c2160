import { createGateway } from "../../app.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { ServiceName } from "../../config/services.ts";
import type { ConfigStore } from "../../config/store.ts";
import type { StoreCondition } from "../../core/store_condition.ts";
import { createDeadlines, within } from "../../core/time/deadlines.ts";
import { lastingTimers, systemTimers } from "../../core/time/timers.ts";
import { measureLag, type Snapshot } from "../../observe/metrics.ts";
import type { Log } from "../../observe/log.ts";
import type { GatewayMetrics } from "../../observe/prometheus.ts";
import type { Tracing } from "../../observe/tracing.ts";
import { CODECS } from "../../protocols/mod.ts";
import { createTranslationPool } from "../../relay/translated/translation_pool.ts";
import type { SharedState } from "../../shared/shared_state.ts";
import type { Fetch, UpstreamClient } from "../../upstream/call.ts";
import { startTranslationThread } from "../workers/translation_thread.ts";
import {
  keepListening,
  type LastingListener,
  listen,
  requireFree,
} from "./listen.ts";

/** What is served, and how. */
export interface ServingOptions {
  readonly store: ConfigStore;
  /** The settings of the listener, with what the command line overrides. */
  readonly server: ServerConfig;
  readonly fetch: Fetch;
  /** Sends callers' requests to providers; default: `fetch` does. */
  readonly client?: UpstreamClient | undefined;
  readonly log: Log;
  /** Whether other threads listen at the same place. */
  readonly isShared?: boolean;
  /** What this gateway has in common with others. */
  readonly shared?: SharedState | undefined;
}

/** A gateway that takes requests, in one thread or in several. */
export interface Serving {
  readonly url: string;
  /** How many threads serve. */
  readonly workers: number;
  /** How many threads died and were replaced. */
  replacements(): number;
  /** Whether new requests are taken. */
  isReady(): boolean;
  /** Absent where replicas share no store. */
  readonly sharedStore?: (() => StoreCondition) | undefined;
  /** Empty where nobody asked for metrics. */
  snapshots(): Promise<readonly Snapshot[]>;
  /**
   * Drains: new requests are turned away, running ones may end within `drain_seconds` and are cut then.
   *
   * @param hurry Ends the waiting at once.
   */
  stop(hurry: Promise<void>): Promise<void>;
}

/**
 * How long the listener may take to close once everything is served or cut, in milliseconds. Callers get their last
 * event meanwhile, for which a busy machine may need a while.
 */
const CLOSE_MS = 5_000;

/**
 * Starts a gateway behind a listener, with metrics where the configuration wants them.
 *
 * @throws {ListenError} As `listen()` does.
 */
export async function startServing(options: ServingOptions): Promise<Serving> {
  const { store, server, log } = options;
  const running = server.admin && await startMetrics(store);
  const metrics = running?.metrics;
  const telemetry = await startTelemetry(store);
  const { isShared = false } = options;
  const translationPool = createTranslationPool({
    startThread: startTranslationThread,
    maxThreads: translationThreads(isShared),
    deadlines: createDeadlines(),
  });
  const { admission, handler, state } = createGateway({
    ...options,
    translationPool,
    metrics,
    tracing: telemetry?.tracing,
    timers: lastingTimers,
    followAfterMs: followAfterMs(Deno.version.deno),
    fetch: telemetry?.propagate(options.fetch) ?? options.fetch,
    client: options.client &&
      (telemetry?.trace(options.client) ?? options.client),
  });
  let { tls } = server;
  let listener: LastingListener;
  try {
    // Another certificate gets a listener of its own, beside the one with the certificate before.
    if (tls !== undefined && !isShared) requireFree(server);
    listener = keepListening({
      open: (port = server.port) =>
        listen({
          ...server,
          port,
          tls,
          isShared: isShared || tls !== undefined,
        }, handler),
      log,
      timers: systemTimers,
    });
  } catch (error) {
    running?.stop();
    throw error;
  }

  store.onSwap(({ server: { tls: next } }) => {
    if (tls === undefined || next === undefined) return;
    if (next.cert === tls.cert && next.key === tls.key) return;
    tls = next;
    listener.renew();
  });

  async function stop(hurry: Promise<void>): Promise<void> {
    running?.stop();
    log.write("draining", { requests: admission.active });
    const start = systemTimers.schedule;
    const isDrained = await within(
      Promise.race([
        admission.drain().then(() => true),
        hurry.then(() => false),
      ]),
      { ms: store.current().server.drainMs, start, onLate: () => false },
    );
    if (!isDrained) {
      log.write("cut", { requests: admission.active });
      admission.cut();
    }
    await within(
      Promise.race([listener.close(), hurry]),
      { ms: CLOSE_MS, start, onLate: () => {} },
    );
    translationPool.close();
    log.write("stopped", {});
  }

  return {
    url: listener.url,
    workers: 1,
    replacements: () => 0,
    isReady: () => !admission.draining,
    sharedStore: options.shared?.store,
    snapshots: async () =>
      metrics === undefined ? [] : [await metrics.collect(state())],
    stop,
  };
}

/** Each takes a core for a while, and some hundred MiB: threads that share the port have one each. */
function translationThreads(isShared: boolean): number {
  const cores = navigator.hardwareConcurrency;
  return isShared ? 1 : Math.min(Math.max(1, cores - 1), 4);
}

/**
 * How long a request may run before its caller is followed, in milliseconds. An upstream is let go within 100 ms of its
 * caller's leaving; most of what ends sooner than this comes from a provider's cache or is an error.
 */
const FOLLOW_AFTER_MS = 50;

/** The first version of Deno that is known to tell a late listener at once that a caller has left; 2.7 never does. */
const TELLS_LATE = { major: 2, minor: 9 };

/**
 * How long the platform lets a request run before its caller is followed, in milliseconds; 0 means that it must be
 * followed at once.
 *
 * @param version Of Deno, such as `2.9.6`.
 */
export function followAfterMs(version: string): number {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const tellsLate = major > TELLS_LATE.major ||
    major === TELLS_LATE.major && minor >= TELLS_LATE.minor;
  return tellsLate ? FOLLOW_AFTER_MS : 0;
}

/** The metrics of one gateway while it runs. */
interface RunningMetrics {
  readonly metrics: GatewayMetrics;
  /** Ends what measures beside the requests. */
  stop(): void;
}

/** Starts to measure. The client library is loaded here, so that who wants no metrics does not pay for it. */
async function startMetrics(
  store: ConfigStore,
): Promise<RunningMetrics> {
  const { createGatewayMetrics } = await import("../../observe/prometheus.ts");
  const metrics = createGatewayMetrics({
    isModel: (name) => store.current().pools.has(name),
    fields: new Set(
      Object.values(CODECS).flatMap(({ fieldNames }) =>
        Object.values(fieldNames)
      ),
    ),
  });
  return { metrics, stop: measureLag(systemTimers, metrics.lag) };
}

/** What serving needs where OpenTelemetry was asked for. */
interface Telemetry {
  readonly tracing: Tracing;
  /** Leaves to the platform the headers that it adds to every request. */
  propagate(fetch: Fetch): Fetch;
  /** Traces the requests of a client that is not the platform's. */
  trace(client: UpstreamClient): UpstreamClient;
}

/** The providers that the conventions call otherwise than the configuration does. */
const PROVIDERS: Partial<Readonly<Record<ServiceName, string>>> = {
  codex: "openai",
  kimi: "moonshot_ai",
  moonshot: "moonshot_ai",
};

/** Where whoever implements OpenTelemetry registers for its library. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * Prepares for OpenTelemetry where the platform was asked for it (`OTEL_DENO`), of which it brings the
 * exporter and everything else. The library is loaded here, so that who wants no telemetry does not pay for
 * it.
 */
async function startTelemetry(
  store: ConfigStore,
): Promise<Telemetry | undefined> {
  if (!(REGISTRY in globalThis)) return undefined;
  const { propagation } = await import("@opentelemetry/api");
  const { createTracing } = await import("../../observe/open_telemetry.ts");
  const { traceClient } = await import("./traced_client.ts");
  // A span of the platform has no `tracestate`: it never sends one, and the caller's belongs to the same trace.
  const added = propagation.fields().filter((name) => name !== "tracestate");
  return {
    tracing: createTracing({
      isModel: (name) => store.current().pools.has(name),
      providerOf(connection) {
        const { connections } = store.current();
        const found = connections.find(({ name }) => name === connection);
        return found && (PROVIDERS[found.service] ?? found.service);
      },
    }),
    propagate: (fetch) => (url, init) => {
      const headers = new Headers(init.headers);
      for (const name of added) headers.delete(name);
      return fetch(url, { ...init, headers });
    },
    trace: (client) => traceClient(client, added),
  };
}
