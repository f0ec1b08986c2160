import { setImmediate } from "node:timers";

/** Waits until all ready tasks have run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Waits until all due tasks have run; takes far less time than {@linkcode settle}. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
