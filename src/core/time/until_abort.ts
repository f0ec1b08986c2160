/**
 * Waits for `work`, but no longer than until `signal` aborts; the work itself goes on, and if it fails
 * after that, nobody hears of it.
 *
 * @throws The signal's reason when it aborts first, at once when it has aborted already.
 */
export function untilAbort<Value>(
  work: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}
