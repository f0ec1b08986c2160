import type { Clock } from "@gateway/base/time/timers";

/**
 * Limits the retries on a connection to a fifth of the requests of about ten seconds. A few retries are always allowed.
 * So a failing provider is not flooded.
 */
export interface RetryBudget {
  /** Counts a request's first attempt on a connection. */
  earn(connectionId: string): void;
  /** Takes one retry. Returns `false` when no retry is left. */
  spend(connectionId: string): boolean;
}

/** The retries that each request adds. */
const SHARE = 0.2;

/** The retries that are always allowed. */
const ALWAYS = 10;

const PERIOD_MS = 10_000;

/** The requests and retries of a connection since `sinceMs`. */
interface Counts {
  readonly sinceMs: number;
  requests: number;
  retries: number;
}

/** Creates an empty budget. */
export function createRetryBudget(clock: Clock): RetryBudget {
  const countsById = new Map<string, Counts>();

  function countsOf(connectionId: string): Counts {
    const known = countsById.get(connectionId);
    const nowMs = clock.elapsedMs();
    if (known !== undefined && nowMs - known.sinceMs < PERIOD_MS) return known;
    const fresh = { sinceMs: nowMs, requests: 0, retries: 0 };
    countsById.set(connectionId, fresh);
    return fresh;
  }

  return {
    earn(connectionId) {
      countsOf(connectionId).requests += 1;
    },
    spend(connectionId) {
      const counts = countsOf(connectionId);
      if (counts.retries >= Math.max(ALWAYS, SHARE * counts.requests)) {
        return false;
      }
      counts.retries += 1;
      return true;
    },
  };
}
