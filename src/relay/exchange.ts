import type { Caller, Config } from "../config/config.ts";
import type { RequestRecord } from "../observe/record.ts";
import { CallerLeft } from "../upstream/call.ts";

/** One request of a known caller on its way through the gateway. */
export interface Exchange {
  readonly request: Request;
  readonly record: RequestRecord;
  readonly caller: Caller;
  /** The same for the whole request, whatever is reloaded meanwhile. */
  readonly config: Config;
  /** Ends the exchange with the upstream: when the caller leaves, or when the gateway must stop. */
  readonly controller: AbortController;
}

/**
 * An abort controller that follows the caller: it is aborted with {@linkcode CallerLeft} when the caller goes
 * away before the record finishes, or has gone already.
 */
export function followCaller(
  request: Request,
  record: RequestRecord,
): AbortController {
  const controller = new AbortController();
  const { signal } = request;
  const leave = () => {
    if (!record.finished) controller.abort(new CallerLeft());
  };
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  record.onFinish(() => signal.removeEventListener("abort", leave));
  return controller;
}
