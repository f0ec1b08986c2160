import type { Connection } from "../config/config.ts";
import type { TimeSpan } from "../core/time/calendar.ts";
import type { Clock } from "../core/time/timers.ts";
import type { QuotaList } from "../quotas/list.ts";
import type { QuotaService } from "../quotas/service.ts";
import {
  limitsModels,
  type QuotaWindow,
  windowKey,
  windowSpan,
} from "../quotas/window.ts";
import { isWindowKept, relayedShare } from "./relayed.ts";
import { type Soon, soon, soonAll, type Sums } from "./sums.ts";
import type { Holder } from "./tables.ts";

/** One window of a provider's quota, and a holder's part of what is used of it. */
export interface QuotaShare {
  readonly window: QuotaWindow;
  /** `undefined` where the provider does not tell when it began. */
  readonly span: TimeSpan | undefined;
  /**
   * How much of the whole window the holder used, from 0 to 1 and above that on overuse; an estimate. `undefined` where
   * it cannot be estimated.
   */
  readonly used: number | undefined;
}

/** Estimates who used how much of the providers' windows. */
export interface QuotaShares {
  /**
   * Returns the windows of a connection's quota that are known without asking the provider, with a holder's part of
   * each.
   *
   * @param maxAgeMs How old the sums of tokens may be, in milliseconds; default 0.
   */
  of(
    connection: Connection,
    holder: Holder,
    maxAgeMs?: number,
  ): Soon<readonly QuotaShare[]>;
  /** Learns from quotas that were read, which are remembered until they reset. */
  learn(list: QuotaList): void;
  /** Whether what is known of a connection's quota is old, or nothing. */
  isStale(connection: Connection): boolean;
}

/** What {@linkcode createQuotaShares} goes by. */
export interface QuotaSharesOptions {
  readonly sums: Pick<Sums, "read" | "sinceMs">;
  readonly quotas: Pick<QuotaService, "known">;
  readonly clock: Pick<Clock, "now">;
}

/** A provider that tells when its window resets does not always tell the same second. */
const SAME_WINDOW_MS = 600_000;

/**
 * So many windows are remembered, as no provider has by far; the one that was seen first goes first. A provider may
 * make up others with each answer.
 */
const MAX_SIGHTS = 10_000;

/** A window of which the parts of holders can be estimated. */
interface MeasuredWindow {
  readonly span: TimeSpan;
  readonly usedPercent: number;
  /** From its start to now. */
  readonly asked: TimeSpan;
}

/** What was used of a window when it was first seen. */
interface FirstSight {
  readonly resetsAtMs: number;
  readonly usedPercent: number;
}

/**
 * A holder's part of a window is what the provider says is used, times the holder's share of the tokens that the
 * gateway relayed since the window began. What others do with the same key elsewhere therefore counts for everybody.
 * Of a window that began before anything was counted, only what was used since it was first seen is anybody's.
 */
export function createQuotaShares(
  { sums, quotas, clock }: QuotaSharesOptions,
): QuotaShares {
  /** By connection and window. */
  const firstSights = new Map<string, FirstSight>();
  /** By connection id; caches forget sooner than windows reset. */
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
    const known = firstSights.get(key);
    const isSame = known !== undefined &&
      Math.abs(known.resetsAtMs - span.endMs) < SAME_WINDOW_MS;
    if (isSame) return Math.min(known.usedPercent, usedPercent);
    const [oldest] = firstSights.keys();
    if (oldest !== undefined && firstSights.size >= MAX_SIGHTS) {
      firstSights.delete(oldest);
    }
    firstSights.set(key, { resetsAtMs: span.endMs, usedPercent });
    return usedPercent;
  }

  /** What a holder's part is measured by; `undefined` where it cannot be estimated. */
  function measured(window: QuotaWindow): MeasuredWindow | undefined {
    const span = windowSpan(window);
    const usedPercent = window.used_percent;
    if (span === undefined || usedPercent === null) return undefined;
    const nowMs = clock.now();
    const isRunning = span.startMs <= nowMs && nowMs < span.endMs;
    const isKept = isWindowKept(span.endMs - span.startMs);
    return limitsModels(window) && isRunning && isKept
      ? { span, usedPercent, asked: { startMs: span.startMs, endMs: nowMs } }
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
    const asked = { connection: connection.name, holder, span: one.asked };
    return soon(relayedShare(asked, sums, maxAgeMs), (share) => {
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

/** Whether a window is meant by its length, or by type and length. */
export function isNamed(window: QuotaWindow, name: string): boolean {
  return window.window === name || windowKey(window) === name;
}
