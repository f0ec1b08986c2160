/** The longest wait of a test, in milliseconds; far longer than any wait on a busy machine. */
const STARTUP_GRACE_MS = 60_000;

/** The time between two checks of a condition, in milliseconds. */
const POLL_MS = 5;

/**
 * Waits for `work`, with a timeout.
 *
 * @param what The awaited event, such as `the upstream to be asked`.
 */
export async function within<Value>(
  work: Promise<Value>,
  what: string,
): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`Timed out waiting for ${what}`)),
    STARTUP_GRACE_MS,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Polls until `holds` returns true, with a timeout; for events without a notification. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const lastMs = performance.now() + STARTUP_GRACE_MS;
  while (!await holds()) {
    if (performance.now() > lastMs) {
      throw new Error(`Timed out waiting for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
