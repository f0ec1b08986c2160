import { AggregatorRegistry, Counter, Gauge, Registry } from "prom-client";
import type { StoreCondition } from "../core/store_condition.ts";
import type { Snapshot } from "./metrics.ts";

/** The media type of {@linkcode formatExposition}. */
export const EXPOSITION_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

/** Sums the counters and histograms of threads that have ended into one snapshot, so that no sum ever falls. */
export function foldCounters(
  snapshots: readonly Snapshot[],
): Promise<Snapshot> {
  const counted = snapshots.map((one) => one.filter(isCounted));
  return AggregatorRegistry.aggregate(counted).getMetricsAsJSON();
}

function isCounted(metric: object): boolean {
  const type = "type" in metric ? metric.type : undefined;
  return type === "counter" || type === "histogram";
}

/**
 * Writes snapshots in the text format of Prometheus. Counts are summed over the snapshots; each gauge names its own
 * aggregation.
 */
export function formatExposition(
  snapshots: readonly Snapshot[],
): Promise<string> {
  const merged = AggregatorRegistry.aggregate(snapshots.map((one) => [...one]));
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
  /** Returns the state of the store; absent where replicas share none. */
  readonly sharedStore?: (() => StoreCondition) | undefined;
  /** Returns the resident memory of the process, in bytes. */
  residentBytes(): number;
}

/**
 * Creates the few metrics of the process that administrators look for first. The client library's own set requires
 * permissions that the executable does not have.
 */
export function createProcessMetrics(facts: ProcessFacts): ProcessMetrics {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: "model_gateway_build_info",
    help: "Always 1; the label is the version",
    labelNames: ["version"],
    registers,
  }).set({ version: facts.version }, 1);
  new Gauge({
    name: "process_start_time_seconds",
    help: "Start of the process, in seconds since 1970",
    registers,
  }).set(facts.startedAtMs / 1000);
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Memory of the whole process",
    registers,
    collect() {
      this.set(facts.residentBytes());
    },
  });
  new Gauge({
    name: "model_gateway_workers",
    help: "Threads that serve requests",
    registers,
  }).set(facts.workers);
  new Counter({
    name: "model_gateway_worker_replacements_total",
    help: "Threads that died and were replaced",
    registers,
    collect() {
      this.reset();
      this.inc(facts.replacements());
    },
  });
  const { sharedStore } = facts;
  if (sharedStore !== undefined) {
    new Gauge({
      name: "model_gateway_shared_store_connected",
      help: "1 while the store that replicas share is connected, else 0",
      registers,
      collect() {
        this.set(sharedStore() === "connected" ? 1 : 0);
      },
    });
  }
  return { collect: () => registry.getMetricsAsJSON() };
}
