import { setImmediate } from "node:timers";

/**
 * Lets everything else that is due have its turn first, between two steps of long work. What arrives without a wait,
 * such as a body that is there already, gives nobody a turn by itself.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
