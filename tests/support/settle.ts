import { setImmediate } from "node:timers";

/** Lets all tasks run that are ready to run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Lets all due tasks run; takes far less time than {@linkcode settle}. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
