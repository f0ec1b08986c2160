import type { Caller, Config } from "../config/config.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import type { Deadlines } from "../core/time/deadlines.ts";
import type { RequestRecord } from "../observe/record.ts";
import { CallerLeft } from "../upstream/call.ts";

/** One request of a known caller on its way through the gateway. */
export interface Exchange {
  readonly request: Request;
  /** The request's. */
  readonly headers: HeaderFields;
  readonly record: RequestRecord;
  readonly caller: Caller;
  /** The same for the whole request, whatever is reloaded meanwhile. */
  readonly config: Config;
  /** To the upstreams; cut when the caller leaves, or when the gateway must stop. */
  readonly control: AttemptControl;
}

/** How a caller is followed. */
interface FollowOptions {
  readonly deadlines: Deadlines;
  /** How long a request runs before its caller is followed, in milliseconds; 0 means at once. */
  readonly afterMs: number;
}

/**
 * A control that follows the caller: it ends with {@linkcode CallerLeft} when the caller goes away before the
 * record finishes, or has gone already. To listen to a caller costs the platform a quarter of what a short request
 * costs in all, so one that is over sooner is not listened to.
 */
export function followCaller(
  request: Request,
  record: RequestRecord,
  { deadlines, afterMs }: FollowOptions,
): AttemptControl {
  const control = createAttemptControl();
  const leave = () => {
    if (!record.isFinished()) control.cancel(new CallerLeft());
  };
  const follow = () => {
    const { signal } = request;
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    record.onFinish(() => signal.removeEventListener("abort", leave));
  };
  if (afterMs === 0) follow();
  else record.onFinish(deadlines.start(afterMs, follow));
  return control;
}

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
