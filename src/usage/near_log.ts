import type { Caller } from "../config/config.ts";
import { limitWords } from "../config/usage_limits.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { type Bound, boundLabel } from "./bounds.ts";
import type { LimitState } from "./limiter.ts";

/** Tells the administrator of limits that are nearly used up, once a window. */
export interface NearLog {
  note(states: readonly LimitState[], caller: Caller): void;
}

/** A provider that tells when its window resets does not always tell the same second. */
const SAME_WINDOW_MS = 30_000;

/** Nothing was told yet. */
export function createNearLog(
  { log, metrics }: {
    readonly log: Log;
    readonly metrics?: Metrics | undefined;
  },
): NearLog {
  /** When the window resets that was told last. */
  const told = new WeakMap<Bound, number>();
  return {
    note(states, caller) {
      for (const { bound, ratio, resetsAtMs } of states) {
        if (resetsAtMs - (told.get(bound) ?? 0) < SAME_WINDOW_MS) continue;
        told.set(bound, resetsAtMs);
        const { holder, limit } = bound;
        log.write("warn", "limit_near", {
          token: caller.name,
          group: holder.kind === "group" ? holder.name : undefined,
          limit: limitWords(limit),
          used_percent: Math.floor(ratio * 100),
          resets_at: new Date(resetsAtMs).toISOString(),
        });
        metrics?.limited({
          token: caller.name,
          limit: boundLabel(bound),
          outcome: "near",
        });
      }
    },
  };
}
