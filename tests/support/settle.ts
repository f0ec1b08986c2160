import { setImmediate } from "node:timers";

/** Waits until all ready work has run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Waits until all work that is due has run; much faster than {@linkcode settle}. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
