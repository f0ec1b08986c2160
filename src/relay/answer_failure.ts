import type { JsonValue } from "../core/json.ts";
import type { Protocol } from "../core/protocol.ts";
import { retryAfterMs } from "../core/retry_after.ts";
import type { Clock } from "../core/time/clock.ts";
import type { Failure } from "../protocols/canonical/failure/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import type { UpstreamAnswer } from "../upstream/answer.ts";
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
