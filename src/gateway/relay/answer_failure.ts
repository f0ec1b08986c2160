import type { HttpResponse } from "@gateway/http1";
import type { JsonValue } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import { retryAfterMs, saneWaitMs } from "@gateway/base/retry_after";
import { midnightMs } from "@gateway/base/time/calendar";
import type { Clock } from "@gateway/base/time/timers";
import { FAILURE_WORD_BY_KIND, type RequestFacts } from "../observe/facts.ts";
import { CODECS, type Failure, isOverLimit, meaningOf } from "@gateway/codecs";
import type { Secrets } from "../upstream/secrets.ts";

/** The options of {@linkcode answerFailure}. */
export interface AnswerFailureOptions {
  /** The upstream's protocol. */
  readonly protocol: Protocol;
  /** The secrets to remove from the error's text. */
  readonly secrets: Secrets;
  readonly clock: Clock;
}

/**
 * Decodes an error response. The retry time comes from the headers (RFC 9110, section 10.2.3), or else from the body.
 * {@linkcode withWait} turns the time of a reset into a wait.
 *
 * @param body `undefined` when the body cannot be read.
 */
export function answerFailure(
  { status, headers }: Pick<HttpResponse, "status" | "headers">,
  body: JsonValue | undefined,
  { protocol, secrets, clock }: AnswerFailureOptions,
): Failure {
  const failure = secrets.leaveOut(
    CODECS[protocol].decodeFailure(status, body),
  );
  // The request alone exceeds the limit, so no wait helps.
  if (isOverLimit(failure)) return failure;
  const nowMs = clock.now();
  return withWait(
    {
      ...failure,
      retryAfterMs: retryAfterMs(headers, nowMs) ?? failure.retryAfterMs,
    },
    nowMs,
  );
}

/**
 * Returns a failure with `retryAfterMs` instead of the time of its reset. If the failure also has a daily reset, the
 * longer of the two waits counts.
 */
export function withWait(failure: Failure, nowMs: number): Failure {
  const { resetsAtMs, resetsDaily, retryAfterMs, ...rest } = failure;
  const dailyMs = resetsDaily === undefined
    ? -Infinity
    : midnightMs(resetsDaily, nowMs) - nowMs;
  const waitMs = retryAfterMs ??
    saneWaitMs(Math.max(0, (resetsAtMs ?? NaN) - nowMs));
  return {
    ...rest,
    retryAfterMs: dailyMs > (waitMs ?? 0) ? dailyMs : waitMs,
  };
}

/** Records an upstream's failure that the caller receives as the response. */
export function noteFailure(failure: Failure, facts: RequestFacts): void {
  const { code, kind } = meaningOf(failure).shown;
  facts.error = code ?? kind;
  facts.failure ??= FAILURE_WORD_BY_KIND[failure.kind];
}
