import { systemTimers, type Timers } from "../../../src/core/time/timers.ts";

/** How many times faster than the clock on the wall they go. */
const SPEED = 50;

/** Timers for tests that are not about time: a pause of half a second is over in ten milliseconds. */
export const hurriedTimers: Timers = {
  elapsedMs: () => systemTimers.elapsedMs() * SPEED,
  schedule: (delayMs, onDue) => systemTimers.schedule(delayMs / SPEED, onDue),
};
