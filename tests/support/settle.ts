import { setImmediate } from "node:timers";

/** Lets everything run that is ready to run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Lets everything run that is due already, and takes far less time than {@linkcode settle}. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
