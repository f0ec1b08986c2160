import type { IncomingRequest } from "@gateway/http1";
import { CallerLeft } from "../upstream/call.ts";
import type { Caller, Config } from "../config/config.ts";
import type { HeaderFields } from "@gateway/base/header_fields";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { RequestRecord } from "../observe/record.ts";

/** A request of an authenticated caller, on its way through the gateway. */
export interface Exchange {
  readonly request: IncomingRequest;
  readonly headers: HeaderFields;
  readonly record: RequestRecord;
  readonly caller: Caller;
  /** The configuration when the request arrived. A reload does not change it. */
  readonly config: Config;
  /** Aborts the attempts when the caller disconnects or the gateway stops. */
  readonly control: AttemptControl;
}

/** The options of {@linkcode followCaller}. */
interface FollowOptions {
  readonly deadlines: Deadlines;
  /**
   * The time from the start of the request until the gateway listens for a disconnect, in milliseconds; 0 means at
   * once.
   */
  readonly afterMs: number;
}

/**
 * Creates a control that ends with {@linkcode CallerLeft} when the caller disconnects before the record finishes.
 * Listening starts only after `afterMs`, because that takes a quarter of the time of a short request.
 */
export function followCaller(
  request: IncomingRequest,
  record: RequestRecord,
  { deadlines, afterMs }: FollowOptions,
): AttemptControl {
  const control = new AttemptControl();
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
 * Controls the attempts of a request, one at a time. Each has its own abort controller, so aborting one does not abort
 * the next.
 */
export class AttemptControl {
  #controller: AbortController = new AbortController();
  #over: Error | undefined;

  /** Aborts the current attempt. */
  get controller(): AbortController {
    return this.#controller;
  }

  /**
   * Aborts the current attempt and starts the next.
   *
   * @throws The reason of {@linkcode AttemptControl.cancel}, once that was called.
   */
  nextAttempt(): AbortController {
    this.#controller.abort();
    if (this.#over !== undefined) throw this.#over;
    return this.#controller = new AbortController();
  }

  /** Aborts the current attempt and prevents any other. */
  cancel(reason: Error): void {
    this.#over ??= reason;
    this.#controller.abort(this.#over);
  }
}
