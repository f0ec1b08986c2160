import { systemTimers, type Timers } from "../../../src/base/time/timers.ts";

/** The speed of the timers, as a multiple of real time. */
const SPEED = 50;

/** Timers for tests that do not test time: a pause of half a second takes ten milliseconds. */
export const hurriedTimers: Timers = {
  elapsedMs: () => systemTimers.elapsedMs() * SPEED,
  schedule: (delayMs, onDue) => systemTimers.schedule(delayMs / SPEED, onDue),
};
