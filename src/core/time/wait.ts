import type { Deadlines } from "./deadlines.ts";

/** How a wait is timed, and what ends it early. */
export interface WaitOptions {
  readonly deadlines: Deadlines;
  readonly signal: AbortSignal;
}

/**
 * Waits.
 *
 * @param ms 0 or more, in milliseconds.
 * @throws The signal's reason as soon as it aborts.
 */
export async function wait(
  ms: number,
  { deadlines, signal }: WaitOptions,
): Promise<void> {
  signal.throwIfAborted();
  if (ms === 0) return;
  const over = Promise.withResolvers<void>();
  const stop = () => over.reject(signal.reason);
  const takeBack = deadlines.start(ms, over.resolve);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await over.promise;
  } finally {
    takeBack();
    signal.removeEventListener("abort", stop);
  }
}
