/**
 * Controls the attempts of a request: one at a time, each with an abort controller of its own, so
 * that giving one up leaves the next alone.
 */
export interface AttemptControl {
  /** Ends the current attempt. */
  readonly controller: AbortController;
  /**
   * Gives the current attempt up and opens the next.
   *
   * @throws The reason of {@linkcode AttemptControl.cancel}, when that was called.
   */
  nextAttempt(): AbortController;
  /** Ends the current attempt, and lets no other follow. */
  cancel(reason: Error): void;
}

/** A control with its first attempt. */
export function createAttemptControl(): AttemptControl {
  let controller = new AbortController();
  let over: Error | undefined;
  return {
    get controller() {
      return controller;
    },
    nextAttempt() {
      controller.abort();
      if (over !== undefined) throw over;
      controller = new AbortController();
      return controller;
    },
    cancel(reason) {
      over ??= reason;
      controller.abort(over);
    },
  };
}
