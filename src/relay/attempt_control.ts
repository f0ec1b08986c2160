/**
 * What a request has to the upstreams: one attempt at a time, each with an abort controller of its own, so
 * that giving one up leaves the next alone.
 */
export interface Line {
  /** Ends the current attempt. */
  readonly controller: AbortController;
  /**
   * Gives the current attempt up and opens the next.
   *
   * @throws The reason of {@linkcode Line.hangUp}, when that was called.
   */
  renew(): AbortController;
  /** Ends the current attempt, and lets no other follow. */
  hangUp(reason: Error): void;
}

/** A line with its first attempt. */
export function createLine(): Line {
  let controller = new AbortController();
  let over: Error | undefined;
  return {
    get controller() {
      return controller;
    },
    renew() {
      controller.abort();
      if (over !== undefined) throw over;
      controller = new AbortController();
      return controller;
    },
    hangUp(reason) {
      over ??= reason;
      controller.abort(over);
    },
  };
}
