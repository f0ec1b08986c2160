import type { Clock } from "../../../src/base/time/timers.ts";

/** A clock that only moves when a test advances it. */
export interface FakeClock extends Clock {
  /** Advances both of its times by `ms` milliseconds. */
  advance(ms: number): void;
}

/**
 * Creates a {@linkcode FakeClock}.
 *
 * @param startMs The first time that it shows, in milliseconds since 1970.
 */
export function createFakeClock(startMs: number): FakeClock {
  let passedMs = 0;
  return {
    now: () => startMs + passedMs,
    elapsedMs: () => passedMs,
    advance: (ms) => {
      passedMs += ms;
    },
  };
}
