import { AggregatorRegistry, Registry } from "prom-client";
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
