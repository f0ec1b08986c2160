import { Counter, Gauge, Registry } from "@prometheus-io/client";
import type { StoreCondition } from "@gateway/base/store_condition";
import type { Snapshot } from "./metrics.ts";

/** The media type of {@linkcode formatExposition}. */
export const EXPOSITION_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * Adds up the counters and histograms of threads that have ended, so that the sums of the process do not fall when a
 * thread ends.
 */
export function foldCounters(
  snapshots: readonly Snapshot[],
): Promise<Snapshot> {
  const counted = snapshots.map((one) => one.filter(isCounted));
  return Registry.aggregate(counted).getMetricsAsJSON();
}

function isCounted(metric: object): boolean {
  const type = "type" in metric ? metric.type : undefined;
  return type === "counter" || type === "histogram";
}

/**
 * Writes snapshots in the text format of Prometheus. Adds up the counts of all snapshots. The values of a gauge are
 * combined as the gauge's `aggregator` says.
 */
export function formatExposition(
  snapshots: readonly Snapshot[],
): Promise<string> {
  const merged = Registry.aggregate(snapshots.map((one) => [...one]));
  return merged.metrics();
}

/** The metrics of the process, for any number of threads. */
interface ProcessMetrics {
  /** Returns the current values. */
  collect(): Promise<Snapshot>;
}

/** The values that {@linkcode createProcessMetrics} reads and reports. */
interface ProcessFacts {
  readonly version: string;
  /** The start of the process, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The number of threads that serve requests. */
  readonly workers: number;
  /** Returns the number of threads that died and were replaced. */
  replacements(): number;
  /** Returns the state of the store; absent when no store is configured. */
  readonly sharedStore?: (() => StoreCondition) | undefined;
  /** Returns the resident memory of the process, in bytes. */
  residentBytes(): number;
  /** Returns the limits that requests of all callers share. */
  limits(): {
    readonly maxConcurrentRequests: number;
    readonly maxBodyMemoryBytes: number;
  };
}

/**
 * Creates the metrics of the process itself: only the few metrics that administrators look for first. The client
 * library's own set requires permissions that the executable does not have.
 */
export function createProcessMetrics(facts: ProcessFacts): ProcessMetrics {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(read());
      },
    });
  new Gauge({
    name: "model_gateway_build_info",
    help: "Always 1; the label is the version",
    labelNames: ["version"],
    registers,
  }).set({ version: facts.version }, 1);
  gauge(
    "process_start_time_seconds",
    "Start of the process, in seconds since 1970",
    () => facts.startedAtMs / 1000,
  );
  gauge(
    "process_resident_memory_bytes",
    "Memory of the whole process",
    facts.residentBytes,
  );
  gauge(
    "model_gateway_workers",
    "Threads that serve requests",
    () => facts.workers,
  );
  new Counter({
    name: "model_gateway_worker_replacements_total",
    help: "Threads that died and were replaced",
    registers,
    collect() {
      this.reset();
      this.inc(facts.replacements());
    },
  });
  gauge(
    "model_gateway_requests_in_flight_limit",
    "The most requests that may run at once; further ones get a 503",
    () => facts.limits().maxConcurrentRequests,
  );
  gauge(
    "model_gateway_body_memory_limit_bytes",
    "The most memory for bodies; further requests get a 503",
    () => facts.limits().maxBodyMemoryBytes,
  );
  const { sharedStore } = facts;
  if (sharedStore !== undefined) {
    gauge(
      "model_gateway_shared_store_connected",
      "1 while the store that replicas share is connected, else 0",
      () => sharedStore() === "connected" ? 1 : 0,
    );
  }
  return { collect: () => registry.getMetricsAsJSON() };
}
