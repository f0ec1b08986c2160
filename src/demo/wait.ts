/**
 * Waits `ms` milliseconds; rejects with the signal's reason as soon as `signal` aborts, and leaves no
 * timer and no listener behind.
 */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** Waits on the clock of this machine. */
export function waitInRealTime(ms: number, signal: AbortSignal): Promise<void> {
  return waiting(signal, (resolve) => {
    const timer = setTimeout(resolve, ms);
    return () => clearTimeout(timer);
  });
}

/** Never resolves; rejects with the signal's reason as soon as `signal` aborts. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  return waiting(signal, () => () => {});
}

function waiting(
  signal: AbortSignal,
  start: (resolve: () => void) => () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      stop();
      reject(signal.reason);
    };
    const stop = start(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
