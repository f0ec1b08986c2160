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
  let over: Error | undefined;
  const control = {
    controller: new AbortController(),
    nextAttempt() {
      control.controller.abort();
      if (over !== undefined) throw over;
      control.controller = new AbortController();
      return control.controller;
    },
    cancel(reason: Error) {
      over ??= reason;
      control.controller.abort(over);
    },
  };
  return control;
}
