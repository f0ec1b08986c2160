import type { Clock } from "../../core/time/timers.ts";

/**
 * Limits the retries on a connection to a fifth of the requests of about ten seconds. A few are always allowed. So a
 * failing provider is not flooded.
 */
export interface RetryBudget {
  /** Counts a request's first attempt on a connection. */
  earn(connectionId: string): void;
  /** Takes one retry; returns `false` when none is left. */
  spend(connectionId: string): boolean;
}

/** The retries that each request adds. */
const SHARE = 0.2;

/** The retries that are always allowed. */
const ALWAYS = 10;

const PERIOD_MS = 10_000;

interface Tally {
  readonly sinceMs: number;
  requests: number;
  repetitions: number;
}

/** Creates an empty budget. */
export function createRetryBudget(clock: Clock): RetryBudget {
  const tallies = new Map<string, Tally>();

  function tallyOf(connectionId: string): Tally {
    const known = tallies.get(connectionId);
    const nowMs = clock.elapsedMs();
    if (known !== undefined && nowMs - known.sinceMs < PERIOD_MS) return known;
    const tally = { sinceMs: nowMs, requests: 0, repetitions: 0 };
    tallies.set(connectionId, tally);
    return tally;
  }

  return {
    earn(connectionId) {
      tallyOf(connectionId).requests += 1;
    },
    spend(connectionId) {
      const tally = tallyOf(connectionId);
      if (tally.repetitions >= Math.max(ALWAYS, SHARE * tally.requests)) {
        return false;
      }
      tally.repetitions += 1;
      return true;
    },
  };
}
