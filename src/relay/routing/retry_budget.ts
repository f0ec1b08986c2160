import type { Clock } from "../../core/time/timers.ts";

/**
 * Bounds how often a connection is asked for the same request again, so that a dying provider is not
 * hammered: of the requests of about ten seconds a fifth, and always a few.
 */
export interface RetryBudget {
  /** Counts a request that is new to a connection. */
  earn(connectionId: string): void;
  /** Takes one repetition; `false` when there is none left. */
  spend(connectionId: string): boolean;
}

/** Repetitions for one request. */
const SHARE = 0.2;

/** Where there are few requests, at least this many repetitions are allowed. */
const ALWAYS = 10;

const PERIOD_MS = 10_000;

interface Tally {
  readonly sinceMs: number;
  requests: number;
  repetitions: number;
}

/** Nothing is counted yet. */
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
