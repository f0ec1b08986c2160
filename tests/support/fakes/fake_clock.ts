import type { Clock } from "../../../src/core/time/timers.ts";

/** A clock that stands still until it is told to go on. */
export interface FakeClock extends Clock {
  /** Lets both of its times pass by `ms` milliseconds. */
  advance(ms: number): void;
}

/**
 * Creates a {@linkcode FakeClock}.
 *
 * @param startMs What it shows at first, in milliseconds since 1970.
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
