/** How long a test waits for what must happen, in milliseconds: far longer than it takes on a busy machine. */
const STARTUP_GRACE_MS = 15_000;

/** Between two looks at a condition, in milliseconds. */
const LOOK_MS = 5;

/**
 * Waits for `work`, but not for ever.
 *
 * @param what What is waited for, such as `the upstream to be asked`.
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

/** Waits until `holds` does, but not for ever; for what gives no sign when it happens. */
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
