import type { HttpClient, RequestTracing } from "@gateway/http1";
import type { Fetch } from "../upstream/call.ts";
import { type LastingListener, serve } from "@gateway/http1/deno";
import { createGateway } from "../app.ts";
import type { Config, ServerConfig } from "../config/config.ts";
import type { ServiceName } from "@gateway/services";
import type { LiveConfig } from "../config/live_config.ts";
import { oncePer } from "@gateway/base/memo";
import type { StoreCondition } from "@gateway/base/store_condition";
import { createDeadlines, within } from "@gateway/base/time/deadlines";
import { lastingTimers, systemTimers } from "@gateway/base/time/timers";
import { measureLag, type Snapshot } from "../observe/metrics.ts";
import type { Log } from "../observe/log.ts";
import type { GatewayMetrics } from "../observe/prometheus.ts";
import type { Tracing } from "../observe/tracing.ts";
import { CODECS } from "@gateway/codecs";
import { createTranslationPool } from "../relay/translated/translation_pool.ts";
import type { SharedState } from "../shared/shared_state.ts";
import {
  createClientFetch,
  createFetchClient,
} from "../upstream/fetch_client.ts";
import { startTranslationThread } from "./threads/thread.ts";

/** The options of {@linkcode startServing}. */
export interface ServingOptions {
  readonly liveConfig: LiveConfig;
  /** The settings of the listener. Options of the command line have replaced settings of the file. */
  readonly server: ServerConfig;
  readonly fetch: Fetch;
  /** Sends callers' requests to providers; default: through `fetch`. */
  readonly client?: HttpClient | undefined;
  /** Returns the number of abandoned TLS handshakes whose descriptors are still open; default: 0. */
  readonly abandonedHandshakes?: () => number;
  readonly log: Log;
  /** True when other threads listen on the same port. */
  readonly isShared?: boolean;
  /** The state that this gateway shares with others. */
  readonly shared?: SharedState | undefined;
}

/** A gateway that takes requests, in one thread or in several. */
export interface Serving {
  readonly url: string;
  /** The number of serving threads. */
  readonly workers: number;
  /** Returns the number of threads that died and were replaced. */
  replacements(): number;
  /** Returns true while new requests are accepted. */
  isReady(): boolean;
  /** Returns true when an attempt of the last minute failed because this machine lacked resources. */
  hasShortage(): boolean;
  /** Returns the condition of the store; absent when replicas share no store. */
  readonly sharedStore?: (() => StoreCondition) | undefined;
  /** Resolves to the metrics; empty when metrics are off. */
  snapshots(): Promise<readonly Snapshot[]>;
  /**
   * Drains: rejects new requests and lets running requests end. After `drain_seconds`, cuts the remaining requests.
   *
   * @param hurry When this promise resolves, the waiting ends at once.
   */
  stop(hurry: Promise<void>): Promise<void>;
}

/**
 * The timeout for closing the listener after all requests have ended, in milliseconds. On a busy machine, callers need
 * this time to receive their last events.
 */
const CLOSE_MS = 5_000;

/** The names of the listener's settings, for its errors. */
const SETTINGS = { host: "--host", port: "--port", tls: "server.tls" };

/**
 * Starts a gateway behind a listener, with metrics when the configuration enables them.
 *
 * @throws {ListenError} As `serve()` does.
 */
export async function startServing(options: ServingOptions): Promise<Serving> {
  const { liveConfig, server, log } = options;
  const running = server.admin && await startMetrics(liveConfig);
  const metrics = running?.metrics;
  const telemetry = await startTelemetry(liveConfig);
  const { isShared = false } = options;
  const translationPool = createTranslationPool({
    startThread: startTranslationThread,
    maxThreads: translationThreads(isShared),
    deadlines: createDeadlines(),
  });
  const gateway = createGateway({
    ...options,
    translationPool,
    metrics,
    tracing: telemetry?.tracing,
    timers: lastingTimers,
    followAfterMs: FOLLOW_AFTER_MS,
    fetch: telemetry === undefined
      ? options.fetch
      : createClientFetch(telemetry.trace(createFetchClient(options.fetch))),
    client: options.client &&
      (telemetry?.trace(options.client) ?? options.client),
  });
  const { admission, respond, state, usage, hasShortage } = gateway;
  let { tls } = server;
  let listener: LastingListener;
  try {
    listener = serve({ ...server, isShared, settings: SETTINGS }, respond, {
      timers: lastingTimers,
      tracing: telemetry?.requests,
      log,
    });
  } catch (error) {
    running?.stop();
    throw error;
  }

  liveConfig.onSwap(({ server: { tls: next } }) => {
    if (tls === undefined || next === undefined) return;
    if (next.cert === tls.cert && next.key === tls.key) return;
    tls = next;
    listener.renew(next);
  });

  async function stop(hurry: Promise<void>): Promise<void> {
    running?.stop();
    log.write("draining", { requests: admission.active });
    const start = (ms: number, onPassed: () => void) => {
      hurry.then(onPassed);
      return systemTimers.schedule(ms, onPassed);
    };
    const isDrained = await within(
      admission.drain().then(() => true),
      { ms: liveConfig.current().server.drainMs, start, onLate: () => false },
    );
    if (!isDrained) {
      log.write("cut", { requests: admission.active });
      admission.cut();
    }
    await within(
      listener.close(),
      { ms: CLOSE_MS, start, onLate: () => {} },
    );
    await within(
      gateway.drainAlerts(),
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
    hasShortage,
    sharedStore: options.shared?.store,
    snapshots: async () =>
      metrics === undefined ? [] : [
        await metrics.collect({
          ...state(),
          abandonedHandshakes: options.abandonedHandshakes?.() ?? 0,
        }, await usage()),
      ],
    stop,
  };
}

/**
 * Returns the maximum number of translation threads: one if several threads share the port. Each translation thread may
 * use a core and some hundred MiB.
 */
function translationThreads(isShared: boolean): number {
  const cores = navigator.hardwareConcurrency;
  return isShared ? 1 : Math.min(Math.max(1, cores - 1), 4);
}

/**
 * The age at which a request begins to watch for its caller's disconnect, in milliseconds. The provider's socket is
 * closed within 100 ms of the disconnect. Most shorter requests are errors, or answers from a provider's cache.
 */
const FOLLOW_AFTER_MS = 50;

/** The metrics of one gateway while it runs. */
interface RunningMetrics {
  readonly metrics: GatewayMetrics;
  /** Stops the periodic measurements. */
  stop(): void;
}

/** Starts the metrics. The library is loaded here, so that a gateway without metrics does not load it. */
async function startMetrics(
  liveConfig: LiveConfig,
): Promise<RunningMetrics> {
  const { createGatewayMetrics } = await import("../observe/prometheus.ts");
  const metrics = createGatewayMetrics({
    isModel: (name) => liveConfig.current().pools.has(name),
    isToken: (name) => tokenNames(liveConfig.current()).has(name),
    fields: new Set(
      Object.values(CODECS).flatMap(({ fieldNames }) =>
        Object.values(fieldNames)
      ),
    ),
  });
  return { metrics, stop: measureLag(systemTimers, metrics.lag) };
}

const tokenNames = oncePer(({ callers }: Config) =>
  new Set([...callers.values()].map(({ name }) => name))
);

/** The tracers of OpenTelemetry. */
interface Telemetry {
  readonly tracing: Tracing;
  /** Traces the requests of a client. */
  trace(client: HttpClient): HttpClient;
  /** Traces the requests of callers. */
  readonly requests: RequestTracing;
}

/**
 * The providers whose names in the conventions differ from the names in the configuration
 * (https://docs.nvidia.com/metropolis/deepstream/dev-guide/sdk-api/namespacesemconv_1_1gen__ai_1_1GenAiProviderNameValues.html).
 */
const PROVIDERS: Partial<Readonly<Record<ServiceName, string>>> = {
  "openai-chat": "openai",
  codex: "openai",
  azure: "azure.ai.openai",
  "azure-chat": "azure.ai.openai",
  "azure-claude": "anthropic",
  "aws-claude": "anthropic",
  bedrock: "aws.bedrock",
  "bedrock-responses": "aws.bedrock",
  "bedrock-claude": "aws.bedrock",
  gemini: "gcp.gemini",
  vertex: "gcp.vertex_ai",
  "vertex-claude": "gcp.vertex_ai",
  xai: "x_ai",
  mistral: "mistral_ai",
  kimi: "moonshot_ai",
  moonshot: "moonshot_ai",
};

/** The symbol under which an implementation of OpenTelemetry registers with the library. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * Prepares OpenTelemetry when `OTEL_DENO` enables it. The platform contains the exporter and the SDK. The library is
 * loaded here, so that a gateway without telemetry does not load it.
 */
async function startTelemetry(
  liveConfig: LiveConfig,
): Promise<Telemetry | undefined> {
  if (!(REGISTRY in globalThis)) return undefined;
  const { propagation } = await import("@opentelemetry/api");
  const { createTracing } = await import("../observe/open_telemetry.ts");
  const { traceClient, traceRequests } = await import("./traces.ts");
  // The caller's `tracestate` is forwarded, because it is of the same trace and the platform sends none.
  const added = propagation.fields().filter((name) => name !== "tracestate");
  return {
    tracing: createTracing({
      isModel: (name) => liveConfig.current().pools.has(name),
      providerOf(connection) {
        const { connections } = liveConfig.current();
        const found = connections.find(({ name }) => name === connection);
        return found && (PROVIDERS[found.service] ?? found.service);
      },
    }, Deno.env.get("OTEL_SEMCONV_STABILITY_OPT_IN")),
    trace: (client) => traceClient(client, added),
    requests: traceRequests(),
  };
}
