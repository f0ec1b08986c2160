import { AggregatorRegistry, Registry } from "prom-client";
import type { Snapshot } from "./metrics.ts";

/** The media type of {@linkcode formatExposition}. */
export const EXPOSITION_TYPE: string = Registry.PROMETHEUS_CONTENT_TYPE;

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
