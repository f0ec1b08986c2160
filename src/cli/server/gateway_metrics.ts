import type { ConfigStore } from "../../config/store.ts";
import { systemTimers } from "../../core/time/timers.ts";
import { measureLag } from "../../observe/lag.ts";
import type { GatewayMetrics } from "../../observe/prometheus.ts";
import { CODECS } from "../../protocols/mod.ts";

/** The metrics of one gateway while it runs. */
export interface RunningMetrics {
  readonly metrics: GatewayMetrics;
  /** Ends what measures beside the requests. */
  stop(): void;
}

/** Starts to measure. The client library is loaded here, so that who wants no metrics does not pay for it. */
export async function startMetrics(
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
