import { AggregatorRegistry, Counter, Gauge, Registry } from "prom-client";
import type { StoreCondition } from "../core/store_condition.ts";
import type { Snapshot } from "./metrics.ts";

/** The media type of {@linkcode formatExposition}. */
export const EXPOSITION_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * What is left to count of gateways that are gone: their counters and histograms in one snapshot, so that no
 * sum ever falls.
 */
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
 * Writes snapshots in the text format of Prometheus. What several of them count is added up; a gauge says
 * itself how it is put together.
 */
export function formatExposition(
  snapshots: readonly Snapshot[],
): Promise<string> {
  const merged = AggregatorRegistry.aggregate(snapshots.map((one) => [...one]));
  return merged.metrics();
}

/** The metrics of the process, whatever number of threads serves in it. */
interface ProcessMetrics {
  /** Everything as it stands now. */
  collect(): Promise<Snapshot>;
}

/** What {@linkcode createProcessMetrics} reads and tells. */
interface ProcessFacts {
  readonly version: string;
  /** When the process started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** How many threads serve. */
  readonly workers: number;
  /** How many threads died and were replaced. */
  replacements(): number;
  /** Absent where replicas share no store. */
  readonly sharedStore?: (() => StoreCondition) | undefined;
  /** The memory that the process has, in bytes. */
  residentBytes(): number;
}

/**
 * The few facts that operators look for first. The client library's own set needs permissions that the
 * executable does not have.
 */
export function createProcessMetrics(facts: ProcessFacts): ProcessMetrics {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: "model_gateway_build_info",
    help: "Always 1; the label tells the version",
    labelNames: ["version"],
    registers,
  }).set({ version: facts.version }, 1);
  new Gauge({
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970",
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
    help: "Threads that serve",
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
      help: "Whether the store that replicas share can be used: 1 or 0",
      registers,
      collect() {
        this.set(sharedStore() === "connected" ? 1 : 0);
      },
    });
  }
  return { collect: () => registry.getMetricsAsJSON() };
}
