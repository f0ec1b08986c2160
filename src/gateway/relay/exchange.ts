import type { IncomingRequest } from "@gateway/http1";
import { CallerLeft } from "../upstream/call.ts";
import type { Caller, Config } from "../config/config.ts";
import type { HeaderFields } from "@gateway/base/header_fields";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { AnswerFacts, Ending } from "../observe/facts.ts";
import type { EndedRequest } from "../observe/metrics.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { RequestSpan } from "../observe/tracing.ts";
import type { Tally } from "../usage/tally.ts";
import type { PromptParts } from "./request/prompt_parts.ts";

/** A request of an authenticated caller, on its way through the gateway. */
export interface Exchange {
  readonly request: IncomingRequest;
  readonly headers: HeaderFields;
  readonly record: RequestRecord;
  readonly holds: Holds;
  readonly caller: Caller;
  /** The configuration when the request arrived. A reload does not change it. */
  readonly config: Config;
  /** Aborts the attempts when the caller disconnects or the gateway stops. */
  readonly control: AttemptControl;
}

/** The functions and resources that a request holds. When it ends, `endRequest` calls and frees them in order. */
export class Holds {
  /** Stops listening to the caller. */
  unfollow: (() => void) | undefined = undefined;
  /** Frees the request's places among the running requests of the gateway and of the caller. */
  leave: (() => void) | undefined = undefined;
  /** The place in the queue. */
  place: { release(): void } | undefined = undefined;
  /** Reports the request's ending to the health of the connection that serves. */
  report: ((ending: Ending) => void) | undefined = undefined;
  /** The slot of the connection that serves. */
  slot:
    | { readonly completed?: (() => void) | undefined; leave(): void }
    | undefined = undefined;
  /** Judges the use of the prompt cache by the usage that the provider counted. */
  judgeCache:
    | ((ended: EndedRequest) => AnswerFacts["cacheMiss"])
    | undefined = undefined;
  /** The parts of the translation that the provider got; `undefined` when the provider got the body itself. */
  sent: PromptParts | undefined = undefined;
  tally: Pick<Tally, "end"> | undefined = undefined;
  /** After a long answer, restarts the time for which the conversation stays on its connection. */
  conversation: (() => void) | undefined = undefined;
  span: RequestSpan | undefined = undefined;
  memory: { close(): void } | undefined = undefined;
  body: { release(): void } | undefined = undefined;
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
 * Creates the control of a request's attempts. If the caller disconnects before the record finishes, the control is
 * cancelled with {@linkcode CallerLeft}. Listening starts only after `afterMs`, because starting to listen takes a
 * quarter of the time of a short request.
 */
export function followCaller(
  request: IncomingRequest,
  { record, holds }: Pick<Exchange, "record" | "holds">,
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
    holds.unfollow = () => signal.removeEventListener("abort", leave);
  };
  if (afterMs === 0) follow();
  else holds.unfollow = deadlines.start(afterMs, follow);
  return control;
}

/**
 * Controls the attempts of a request, one at a time. Each attempt has its own abort controller, so aborting an attempt
 * does not abort the next attempt.
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
   * @throws The reason that {@linkcode AttemptControl.cancel} got, if it was called.
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
