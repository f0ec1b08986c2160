/**
 * Waits for `work`, but no longer than until `signal` aborts; the work itself goes on.
 *
 * @throws The signal's reason when it aborts first, at once when it has aborted already.
 */
export function untilAbort<Value>(
  work: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}
