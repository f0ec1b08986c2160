import {
  clearTimeout as clearNodeTimeout,
  setTimeout as setNodeTimeout,
} from "node:timers";

/** What deadlines go by; tests inject their own. */
export interface Timers {
  /** Milliseconds on a clock that never jumps. */
  elapsedMs(): number;
  /**
   * Calls `onDue` once, after about `delayMs` milliseconds.
   *
   * @param delayMs From 0 up to 24 days.
   * @returns Takes the timer back; does nothing when it has rung.
   */
  schedule(delayMs: number, onDue: () => void): () => void;
  /** Whether one may be left to ring that nobody waits for any more; absent means that it may not. */
  readonly mayRingForNobody?: boolean;
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
 * The timers of this machine for a program that something else keeps alive. A timer that is set and taken back for each
 * request takes a twelfth of what a short request costs that comes alone; these may be left until they ring.
 */
export const lastingTimers: Timers = {
  elapsedMs: () => performance.now(),
  schedule(delayMs, onDue) {
    const timer = setNodeTimeout(onDue, delayMs).unref();
    // Its own `close` is younger than Deno 2.7.
    return () => clearNodeTimeout(timer);
  },
  mayRingForNobody: true,
};

/** Where the time comes from; tests inject their own. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970, for time stamps and expiry. */
  now(): number;
  /** Milliseconds on a clock that never jumps, for durations. */
  elapsedMs(): number;
}

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
};
