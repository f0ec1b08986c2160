import {
  clearTimeout as clearNodeTimeout,
  setTimeout as setNodeTimeout,
} from "node:timers";

/** The clock and timers behind deadlines; tests inject their own. */
export interface Timers {
  /** Returns milliseconds on a monotonic clock. */
  elapsedMs(): number;
  /**
   * Calls `onDue` once, after about `delayMs` milliseconds.
   *
   * @param delayMs From 0 up to 24 days.
   * @returns A function that cancels the timer; it has no effect after the timer has fired.
   */
  schedule(delayMs: number, onDue: () => void): () => void;
  /** True when a timer that is no longer needed may be left to fire; default: false. */
  readonly mayFireUnused?: boolean;
}

/** The timers of this machine. */
export const systemTimers: Timers = {
  elapsedMs: () => performance.now(),
  schedule(delayMs, onDue) {
    const timer = setTimeout(onDue, delayMs);
    return () => clearTimeout(timer);
  },
};

/**
 * The timers of this machine, for a program that stays alive without them. To set and cancel a timer takes a twelfth of
 * the time of a short request, so an unused timer may be left to fire.
 */
export const lastingTimers: Timers = {
  elapsedMs: () => performance.now(),
  schedule(delayMs, onDue) {
    const timer = setNodeTimeout(onDue, delayMs).unref();
    // The timer's own `close` requires Deno 2.7.
    return () => clearNodeTimeout(timer);
  },
  mayFireUnused: true,
};

/** A source of the time; tests inject their own. */
export interface Clock {
  /** Returns wall-clock time in milliseconds since 1970, for time stamps and expiry. */
  now(): number;
  /** Returns milliseconds on a monotonic clock, for durations. */
  elapsedMs(): number;
}

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
};
