import type { Timers } from "../core/time/timers.ts";

/** How often the lag is measured, in milliseconds. */
const EVERY_MS = 500;

/**
 * Measures how late timers ring, which is how long requests wait for the thread.
 *
 * @param report Takes one lag in milliseconds.
 * @returns Ends the measuring.
 */
export function measureLag(
  timers: Timers,
  report: (ms: number) => void,
): () => void {
  let stop = next();

  function next(): () => void {
    const dueMs = timers.elapsedMs() + EVERY_MS;
    return timers.ring(EVERY_MS, () => {
      report(Math.max(0, timers.elapsedMs() - dueMs));
      stop = next();
    });
  }

  return () => stop();
}
