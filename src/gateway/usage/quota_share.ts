import type { Connection } from "../config/config.ts";
import type { TimeSpan } from "@gateway/base/time/calendar";
import type { Clock } from "@gateway/base/time/timers";
import type { QuotaList, QuotaWindow } from "@gateway/page/answers";
import type { QuotaService } from "../quotas/service.ts";
import { limitsModels, windowKey, windowSpan } from "../quotas/window.ts";
import { isWindowKept, relayedShare } from "./relayed.ts";
import { type Soon, soon, soonAll, type Sums } from "./sums.ts";
import type { Holder } from "./tables.ts";

/** A quota window of a provider, and the part of the window that a holder used. */
export interface QuotaShare {
  readonly window: QuotaWindow;
  /** `undefined` when the provider does not report the window's start. */
  readonly span: TimeSpan | undefined;
  /**
   * The holder's part of the whole window, an estimate: from 0 to 1, and above 1 when the quota is exceeded.
   * `undefined` where no estimate is possible.
   */
  readonly used: number | undefined;
}

/** Estimates which part of a provider's quota window each holder used. */
export interface QuotaShares {
  /**
   * Returns the known windows of a connection's quota, with a holder's part of each. Sends no request to the provider.
   *
   * @param maxAgeMs The largest age of the token sums, in milliseconds; default 0.
   */
  of(
    connection: Connection,
    holder: Holder,
    maxAgeMs?: number,
  ): Soon<readonly QuotaShare[]>;
  /** Adds quotas that were read. The windows of these quotas are kept until they reset. */
  learn(list: QuotaList): void;
  /** Returns true when a connection's quota is unknown or old. */
  isStale(connection: Connection): boolean;
}

interface QuotaSharesOptions {
  readonly sums: Pick<Sums, "read" | "sinceMs">;
  readonly quotas: Pick<QuotaService, "known">;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Two reset times that differ by less than this, in milliseconds, belong to the same window. The times that a provider
 * reports for one window vary by some seconds.
 */
const SAME_WINDOW_MS = 600_000;

/**
 * The largest number of windows that are remembered. It is far more than providers have, but a provider may invent
 * windows in each response. The oldest window is dropped first.
 */
const MAX_FIRST_READINGS = 10_000;

/** A window whose parts can be estimated. */
interface MeasuredWindow {
  readonly span: TimeSpan;
  readonly usedPercent: number;
  /** The time from the window's start to now. */
  readonly elapsed: TimeSpan;
}

/** The usage of a window when it was first seen. */
interface FirstReading {
  readonly resetsAtMs: number;
  readonly usedPercent: number;
}

/**
 * Creates the estimates. A holder's part is the used part that the provider reports, times the holder's share of the
 * tokens that the gateway relayed since the window began. Use of the same key outside the gateway is therefore divided
 * among all holders. If a window began before the gateway counted, only the usage since the first reading of the window
 * is divided.
 */
export function createQuotaShares(
  { sums, quotas, clock }: QuotaSharesOptions,
): QuotaShares {
  /** First readings by connection and window. */
  const firstReadings = new Map<string, FirstReading>();
  /** The last known windows by connection id, because the cache of quotas expires before windows reset. */
  const lastSeen = new Map<string, readonly QuotaWindow[]>();

  function windowsOf(connection: Connection): readonly QuotaWindow[] {
    const known = quotas.known(connection);
    if (known.length > 0) lastSeen.set(connection.id, known);
    return lastSeen.get(connection.id) ?? [];
  }

  function usedBefore(
    connection: Connection,
    window: QuotaWindow,
    { span, usedPercent }: {
      readonly span: TimeSpan;
      readonly usedPercent: number;
    },
  ): number {
    if (sums.sinceMs <= span.startMs) return 0;
    const key = `${connection.name}\t${windowKey(window)}`;
    const known = firstReadings.get(key);
    const isSame = known !== undefined &&
      Math.abs(known.resetsAtMs - span.endMs) < SAME_WINDOW_MS;
    if (isSame) return Math.min(known.usedPercent, usedPercent);
    const [oldest] = firstReadings.keys();
    if (oldest !== undefined && firstReadings.size >= MAX_FIRST_READINGS) {
      firstReadings.delete(oldest);
    }
    firstReadings.set(key, { resetsAtMs: span.endMs, usedPercent });
    return usedPercent;
  }

  /** Returns the numbers of a window that an estimate needs. Returns `undefined` when no estimate is possible. */
  function measured(window: QuotaWindow): MeasuredWindow | undefined {
    const span = windowSpan(window);
    const usedPercent = window.used_percent;
    if (span === undefined || usedPercent === null) return undefined;
    const nowMs = clock.now();
    const isRunning = span.startMs <= nowMs && nowMs < span.endMs;
    const isKept = isWindowKept(span.endMs - span.startMs);
    return limitsModels(window) && isRunning && isKept
      ? { span, usedPercent, elapsed: { startMs: span.startMs, endMs: nowMs } }
      : undefined;
  }

  function partOf(
    connection: Connection,
    holder: Holder,
    { window, maxAgeMs }: {
      readonly window: QuotaWindow;
      readonly maxAgeMs: number | undefined;
    },
  ): Soon<QuotaShare> {
    const span = windowSpan(window);
    const one = measured(window);
    if (one === undefined) return { window, span, used: undefined };
    const query = { connection: connection.name, holder, span: one.elapsed };
    return soon(relayedShare(query, sums, maxAgeMs), (share) => {
      const before = usedBefore(connection, window, one);
      const used = share === undefined
        ? undefined
        : share * (one.usedPercent - before) / 100;
      return { window, span, used };
    });
  }

  return {
    of: (connection, holder, maxAgeMs) =>
      soonAll(
        windowsOf(connection).map((window) =>
          partOf(connection, holder, { window, maxAgeMs })
        ),
      ),
    learn({ data }) {
      for (const { provider_id, limits: windows } of data) {
        if (windows.length > 0) lastSeen.set(provider_id, windows);
      }
    },
    isStale: (connection) => quotas.known(connection).length === 0,
  };
}

/** Returns true when a name selects a window. The name is the window's length, or its type and length. */
export function isNamed(window: QuotaWindow, name: string): boolean {
  return window.window === name || windowKey(window) === name;
}
