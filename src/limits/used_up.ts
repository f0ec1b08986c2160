import type { Connection } from "../config/config.ts";
import type { Clock } from "../core/time/clock.ts";
import { sourceKey } from "./source_key.ts";
import { isUsedUp, type QuotaWindow, windowKey } from "./window.ts";

/** Remembers which windows are used up until they reset, longer than any cache keeps the rest. */
export interface UsedUpWindows {
  /** Learns from what was reported last; of a window that this leaves out, the last word stands. */
  learn(connection: Connection, reported: readonly QuotaWindow[]): void;
  /** The windows that are used up still. */
  of(connection: Connection): readonly QuotaWindow[];
  /** Forgets what does not belong to `connections` as they are configured now. */
  retain(connections: readonly Connection[]): void;
}

/** What connections of old configurations have left goes first. */
const MAX_CONNECTIONS = 1000;

/** Nothing is known yet. */
export function createUsedUpWindows(
  { clock }: { readonly clock: Clock },
): UsedUpWindows {
  /** By connection as it is configured, and there by window. */
  const known = new Map<string, Map<string, QuotaWindow>>();

  return {
    learn(connection, reported) {
      const key = sourceKey(connection);
      const windows = known.get(key) ?? new Map<string, QuotaWindow>();
      for (const one of reported) {
        if (isUsedUp(one) && runsAt(one, clock.now())) {
          windows.set(windowKey(one), one);
        } else if (one.used_percent !== null || one.remaining !== null) {
          windows.delete(windowKey(one));
        }
      }
      known.delete(key);
      if (windows.size > 0) known.set(key, windows);
      const [oldest] = known.keys();
      if (oldest !== undefined && known.size > MAX_CONNECTIONS) {
        known.delete(oldest);
      }
    },
    of(connection) {
      const windows = known.get(sourceKey(connection));
      if (windows === undefined) return [];
      const nowMs = clock.now();
      return [...windows.values()].filter((one) => runsAt(one, nowMs));
    },
    retain(connections) {
      const keys = new Set(connections.map(sourceKey));
      for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    },
  };
}

function runsAt({ resets_at }: QuotaWindow, nowMs: number): boolean {
  return Date.parse(resets_at ?? "") > nowMs;
}
