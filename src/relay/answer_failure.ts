import type { JsonValue } from "../core/json.ts";
import type { Protocol } from "../core/protocol.ts";
import { retryAfterMs, saneWaitMs } from "../core/retry_after.ts";
import type { Clock } from "../core/time/timers.ts";
import { FAILURE_WORD_BY_KIND, type RequestFacts } from "../observe/facts.ts";
import {
  type Failure,
  shownFailure,
} from "../protocols/canonical/failure/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import type { HttpResponse } from "../upstream/call.ts";
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
 * Decodes an error response. Its headers name the retry time (RFC 9110, section 10.2.3); its body counts only if they
 * do not. A reset becomes a wait, because whether it is final depends on the other connections.
 *
 * @param body `undefined` when the body cannot be read.
 */
export function answerFailure(
  { status, headers }: Pick<HttpResponse, "status" | "headers">,
  body: JsonValue | undefined,
  { protocol, secrets, clock }: AnswerFailureOptions,
): Failure {
  const { resetsAtMs = NaN, ...failure } = secrets.leaveOut(
    CODECS[protocol].decodeFailure(status, body),
  );
  // No wait makes a request smaller.
  if (failure.kind === "too_large") return failure;
  const nowMs = clock.now();
  const waitMs = retryAfterMs(headers, nowMs) ?? failure.retryAfterMs ??
    saneWaitMs(Math.max(0, resetsAtMs - nowMs));
  return { ...failure, retryAfterMs: waitMs };
}

/** Records an upstream's failure that the caller receives as the response. */
export function noteFailure(failure: Failure, facts: RequestFacts): void {
  const { code, kind } = shownFailure(failure);
  facts.error = code ?? kind;
  facts.failure ??= FAILURE_WORD_BY_KIND[failure.kind];
}
