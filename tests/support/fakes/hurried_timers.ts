import { systemTimers, type Timers } from "../../../src/core/time/timers.ts";

/** How many times faster than the clock on the wall they go. */
const SPEED = 50;

/** Timers for tests that are not about time: a pause of half a second is over in ten milliseconds. */
export const hurriedTimers: Timers = {
  elapsedMs: () => systemTimers.elapsedMs() * SPEED,
  ring: (delayMs, onRing) => systemTimers.ring(delayMs / SPEED, onRing),
};
