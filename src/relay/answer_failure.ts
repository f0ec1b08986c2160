import type { JsonValue } from "../core/json.ts";
import type { Protocol } from "../core/protocol.ts";
import { retryAfterMs } from "../core/retry_after.ts";
import type { Clock } from "../core/time/timers.ts";
import { FAILURE_WORD_BY_KIND, type RequestFacts } from "../observe/facts.ts";
import type { RequestRecord } from "../observe/record.ts";
import {
  type Failure,
  shownFailure,
} from "../protocols/canonical/failure/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import type { UpstreamAnswer } from "../upstream/call.ts";
import type { Secrets } from "../upstream/secrets.ts";

/** How an answer that is an error is read. */
export interface AnswerFailureOptions {
  /** The upstream's. */
  readonly protocol: Protocol;
  /** What its words must not hold. */
  readonly secrets: Secrets;
  readonly clock: Clock;
}

/**
 * What an answer that is an error means. How long to wait is what its headers say (RFC 9110, section 10.2.3), and what
 * its body says only where they say nothing.
 *
 * @param body `undefined` where nothing of it can be read.
 */
export function answerFailure(
  { status, headers }: Pick<UpstreamAnswer, "status" | "headers">,
  body: JsonValue | undefined,
  { protocol, secrets, clock }: AnswerFailureOptions,
): Failure {
  const failure = secrets.leaveOut(
    CODECS[protocol].decodeFailure(status, body),
  );
  const waitMs = retryAfterMs(headers, clock.now()) ?? failure.retryAfterMs;
  return { ...failure, retryAfterMs: waitMs };
}

/** Notes in the record that an upstream's response headers have come. */
export function noteAnswer(
  { headers, status }: UpstreamAnswer,
  record: RequestRecord,
  secrets: Pick<Secrets, "areIn">,
): void {
  const { facts } = record;
  facts.answer.firstByteMs = record.elapsedMs();
  facts.answer.upstreamStatus = status;
  const id = headers.get("x-request-id") ?? headers.get("request-id") ??
    undefined;
  if (id === undefined || secrets.areIn(id)) return;
  facts.answer.upstreamRequestId = id;
}

/** Notes the failure of an upstream that is all that the caller gets. */
export function noteFailure(failure: Failure, facts: RequestFacts): void {
  const { code, kind } = shownFailure(failure);
  facts.error = code ?? kind;
  facts.failure ??= FAILURE_WORD_BY_KIND[failure.kind];
}
