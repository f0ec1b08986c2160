import { createGateway } from "../../app.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { ConfigStore } from "../../config/store.ts";
import type { StoreCondition } from "../../core/store_condition.ts";
import { createDeadlines } from "../../core/time/deadlines.ts";
import { lastingTimers, systemTimers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import type { Snapshot } from "../../observe/metrics.ts";
import { createTranslationPool } from "../../relay/translated/translation_pool.ts";
import type { SharedState } from "../../shared/shared_state.ts";
import type { Fetch } from "../../upstream/call.ts";
import type { Reach } from "../../upstream/connect_watch.ts";
import { followAfterMs } from "./follow_after.ts";
import { startMetrics } from "./gateway_metrics.ts";
import { keepListening, type LastingListener } from "./keep_listening.ts";
import { listen, requireFree } from "./listen.ts";
import { startTranslationThread } from "../workers/translation_thread.ts";
import { startTelemetry } from "./telemetry.ts";

/** What is served, and how. */
export interface ServingOptions {
  readonly store: ConfigStore;
  /** The settings of the listener, with what the command line overrides. */
  readonly server: ServerConfig;
  readonly fetch: Fetch;
  /** Absent where a connection proves nothing. */
  readonly reach?: Reach | undefined;
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
    const late = after(store.current().server.drainMs);
    const outcome = await Promise.race([
      admission.drain().then(() => "drained" as const),
      late.passed.then(() => "late" as const),
      hurry.then(() => "hurried" as const),
    ]);
    late.takeBack();
    if (outcome !== "drained") {
      log.write("cut", { requests: admission.active });
      admission.cut();
    }
    const stuck = after(CLOSE_MS);
    await Promise.race([listener.close(), stuck.passed, hurry]);
    stuck.takeBack();
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

/** So many milliseconds, and a way not to wait for them. */
function after(ms: number): {
  readonly passed: Promise<void>;
  readonly takeBack: () => void;
} {
  const { promise: passed, resolve } = Promise.withResolvers<void>();
  return { passed, takeBack: systemTimers.ring(ms, resolve) };
}
