/**
 * The longest wait of a test for an expected event, in milliseconds; far more than a busy machine
 * needs.
 */
const STARTUP_GRACE_MS = 15_000;

/** The time between two checks of a condition, in milliseconds. */
const LOOK_MS = 5;

/**
 * Waits for `work`, at most {@linkcode STARTUP_GRACE_MS}.
 *
 * @param what Names the awaited event in the error, such as `the upstream to be asked`.
 */
export async function within<Value>(
  work: Promise<Value>,
  what: string,
): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`Waited in vain for ${what}`)),
    STARTUP_GRACE_MS,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Polls until `holds` returns true, at most {@linkcode STARTUP_GRACE_MS}; for events without a
 * signal.
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const lastMs = performance.now() + STARTUP_GRACE_MS;
  while (!await holds()) {
    if (performance.now() > lastMs) {
      throw new Error(`Waited in vain for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
