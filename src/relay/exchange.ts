import type { Caller, Config } from "../config/config.ts";
import type { RequestRecord } from "../observe/record.ts";
import { CallerLeft } from "../upstream/call.ts";
import {
  type AttemptControl,
  createAttemptControl,
} from "./attempt_control.ts";

/** One request of a known caller on its way through the gateway. */
export interface Exchange {
  readonly request: Request;
  readonly record: RequestRecord;
  readonly caller: Caller;
  /** The same for the whole request, whatever is reloaded meanwhile. */
  readonly config: Config;
  /** To the upstreams; cut when the caller leaves, or when the gateway must stop. */
  readonly control: AttemptControl;
}

/**
 * A control that follows the caller: it ends with {@linkcode CallerLeft} when the caller goes away before the
 * record finishes, or has gone already.
 */
export function followCaller(
  request: Request,
  record: RequestRecord,
): AttemptControl {
  const control = createAttemptControl();
  const { signal } = request;
  const leave = () => {
    if (!record.finished) control.cancel(new CallerLeft());
  };
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  record.onFinish(() => signal.removeEventListener("abort", leave));
  return control;
}
