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
