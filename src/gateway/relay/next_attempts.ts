import type { Connection, Deployment } from "../config/config.ts";
import { oncePer } from "@gateway/base/memo";
import { backoffMs } from "@gateway/base/time/backoff";
import { isOverLimit } from "@gateway/codecs";
import type { AttemptFailure, AttemptFailureKind } from "./attempt_failure.ts";
import type { Candidate, Candidates } from "./routing/candidate.ts";

/** An attempt that failed. */
export interface FailedAttempt {
  readonly candidate: Candidate;
  readonly failure: AttemptFailure;
  /** True when the attempt was a probe of a connection's recovery. */
  readonly wasProbe: boolean;
  readonly thrown: unknown;
  /** True when the deadline of the first output limited the attempt's wait. Another wait would exceed that deadline. */
  readonly hadOutputDeadline?: boolean;
  /** The connection with a newer key, if the upstream refused the connection's exchanged key. */
  readonly renewed?: Connection | undefined;
}

/** The failed attempts of a request. */
export interface FailedAttempts {
  readonly failed: readonly FailedAttempt[];
  /** The failed attempts that decide the next attempt. Rate limits before a wait do not count. */
  readonly counted: readonly FailedAttempt[];
}

/** An attempt that may be made now. */
export interface NextAttempt {
  readonly candidate: Candidate;
  /** The wait before the attempt, in milliseconds. */
  readonly waitMs: number;
  /** True when the last attempt used the same candidate. */
  readonly isRepeat: boolean;
  /** True for another attempt with a silent candidate. Such an attempt is made only if nothing else can serve. */
  readonly isReturn: boolean;
}

/** The maximum number of attempts for a request, before the first byte of output (docs/design.md#failover). */
export const MAX_ATTEMPTS = 3;

/**
 * A limit for two times, in milliseconds. After a longer `Retry-After`, the same candidate is not asked again. A longer
 * wait without a byte counts as silence.
 */
const MAX_WAIT_MS = 5000;

/**
 * What the next attempt uses after each kind of failure: the same candidate again, another connection or model, or
 * another model. `nothing` means that no attempt follows.
 */
const RETRY_BY_KIND = {
  unreachable: "again",
  broken: "again",
  overloaded: "again",
  timeout: "again",
  server: "again",
  rate_limited: "again",
  gateway_shortage: "again",
  untrusted: "elsewhere",
  silent: "elsewhere",
  quota: "elsewhere",
  misconfigured: "elsewhere",
  authentication: "elsewhere",
  permission: "elsewhere",
  forbidden: "elsewhere",
  context_too_long: "other model",
  oversized: "nothing",
  invalid_request: "nothing",
  too_large: "nothing",
  unauthenticated: "nothing",
  filtered: "nothing",
  not_found: "nothing",
  untranslatable: "elsewhere",
} as const satisfies Record<AttemptFailureKind, string>;

/** Returns true when an attempt sent its request, because the translation did not refuse the request. */
export function wasSent({ failure: { kind } }: FailedAttempt): boolean {
  return kind !== "untranslatable";
}

/** Returns true when the translation refused the request for a candidate, or for another with the same translation. */
export function isRefused(
  candidate: Candidate,
  failed: readonly FailedAttempt[],
): boolean {
  return failed.some((one) =>
    !wasSent(one) && isSameTranslation(one.candidate, candidate)
  );
}

function isSameTranslation(one: Candidate, other: Candidate): boolean {
  if (one === other) return true;
  return one.mode === "translated" && other.mode === "translated" &&
    one.protocol === other.protocol &&
    translationOf(one.deployment) === translationOf(other.deployment);
}

/**
 * The settings that decide what the translation refuses. With equal settings, the translation refuses the same
 * requests.
 */
const translationOf = oncePer(({ connection, model }: Deployment) => {
  const { service, endpoints, strict, omit, ability } = connection;
  const { upstream, maxOutputTokens = null, omit: omitted } = model;
  return JSON.stringify([
    ...[service, endpoints, strict, omit, upstream, maxOutputTokens, omitted],
    ...[ability, model.ability],
  ]);
});

/**
 * Returns the attempts that may follow the failed attempts, the best first. Returns none when the caller must get the
 * error. Candidates for which the translation refused the request are left out.
 *
 * After a short `Retry-After`, the same connection comes first, because it has the prompt cache. In all other cases an
 * untried connection comes first, then the same connection after a pause. For the last attempt, the fallbacks come
 * first in every case.
 *
 * If a kept connection was lost early, the same candidate comes first, without a pause, as if it were untried. The
 * request did not reach this candidate, and the conversation should stay on it.
 *
 * A caller waits for a silent candidate once. All other candidates come before it. Of these, other keys of the silent
 * candidate's provider come last. The silent candidate is tried again only if its kept connection may have been lost
 * and no other candidate was silent.
 *
 * @param random Returns a number from 0 up to 1. It spreads the retries of requests that failed together.
 */
export function nextAttempts(
  candidates: Candidates,
  { failed, counted }: FailedAttempts,
  random: () => number,
): readonly NextAttempt[] {
  const left = MAX_ATTEMPTS - failed.filter(wasSent).length;
  if (left <= 0) return [];
  const sent = counted.filter(wasSent);
  const attempts = attemptsAfter(candidates, { sent, left, random })
    .filter(({ candidate }) => !isRefused(candidate, failed));
  const silent = sent.filter(wasSilent);
  const isLate = ({ candidate }: NextAttempt) =>
    silent.some((one) => isOtherKey(one.candidate, candidate));
  return attempts.toSorted((one, other) =>
    Number(isLate(one)) - Number(isLate(other))
  );
}

function attemptsAfter(
  { own, fallbacks }: Candidates,
  { sent, left, random }: {
    readonly sent: readonly FailedAttempt[];
    readonly left: number;
    readonly random: () => number;
  },
): readonly NextAttempt[] {
  const last = sent.at(-1);
  if (last === undefined) return [...own, ...fallbacks].map(fresh);
  const { candidate, failure, wasProbe } = last;
  // A rate limit that a single request exceeds belongs to an account. Another account may serve the request.
  const retry = isOverLimit(failure)
    ? "elsewhere"
    : RETRY_BY_KIND[failure.kind];
  if (retry === "nothing") return [];
  const untried = (candidates: readonly Candidate[]) =>
    candidates.filter((one) => sent.every((other) => other.candidate !== one));
  const otherModels = untried(fallbacks).map(fresh);
  if (retry === "other model") {
    return otherModels.filter(({ candidate: { deployment } }) =>
      deployment.model.id !== candidate.deployment.model.id
    );
  }
  const isOwn = own.includes(candidate);
  const others = isOwn ? untried(own).map(fresh) : [];
  const isEarlyLoss = failure.wasLost === true && !wasSilent(last);
  const again = retry === "again" && !wasProbe && !isEarlyLoss
    ? repeats(candidate, failure, { failures: sent.length, random })
    : [];
  const same = isEarlyLoss ? [fresh(candidate)] : [];
  const silent = sent.filter(wasSilent);
  // If no connection was opened, the caller has not waited for an answer.
  const wasOpened = failure.kind !== "unreachable" || failure.wasConnected;
  const returns = silent.length === 1
    ? silent.flatMap((one) => returnsTo(one, wasOpened === true))
    : [];
  const after = wasOpened ? [...again, ...returns] : [...returns, ...again];
  if (!isOwn || left === 1) {
    return [...otherModels, ...others, ...same, ...after];
  }
  if (wasSilent(last)) return [...others, ...otherModels, ...after];
  return failure.retryAfterMs === undefined
    ? [...same, ...others, ...again, ...otherModels]
    : [...again, ...others, ...otherModels];
}

/** Returns true when an attempt waited long and received no byte of an answer. */
function wasSilent(
  { failure: { kind, silentMs = 0 } }: FailedAttempt,
): boolean {
  return kind === "silent" || silentMs > MAX_WAIT_MS;
}

/**
 * Returns true when two candidates differ only in the key of one provider. The provider's silence does not depend on
 * the key.
 */
function isOtherKey(one: Candidate, other: Candidate): boolean {
  const [key, otherKey] = [one, other].map(({ deployment }) =>
    deployment.connection.keyOf && deployment.connection.keyOf.connection
  );
  return one !== other && key !== undefined && key === otherKey &&
    one.deployment.model.id === other.deployment.model.id;
}

/** Returns another attempt with a silent candidate, if the candidate's kept connection may have been lost. */
function returnsTo(
  { candidate, failure, hadOutputDeadline }: FailedAttempt,
  isReturn: boolean,
): readonly NextAttempt[] {
  return failure.wasLost && failure.kind === "silent" && !hadOutputDeadline
    ? [{ ...fresh(candidate), isReturn }]
    : [];
}

function fresh(candidate: Candidate): NextAttempt {
  return { candidate, waitMs: 0, isRepeat: false, isReturn: false };
}

/**
 * Returns a retry of the same candidate. If the upstream asks for a longer wait than `MAX_WAIT_MS`, returns no retry.
 */
function repeats(
  candidate: Candidate,
  { retryAfterMs }: AttemptFailure,
  { failures, random }: {
    readonly failures: number;
    readonly random: () => number;
  },
): readonly NextAttempt[] {
  if (retryAfterMs !== undefined && retryAfterMs > MAX_WAIT_MS) return [];
  const waitMs = retryAfterMs === undefined
    ? backoffMs(failures, { firstMs: FIRST_PAUSE_MS, random })
    : retryAfterMs * (1 + MAX_LATENESS * random());
  return [{ ...fresh(candidate), waitMs, isRepeat: true }];
}

/** The longest extra wait after a `Retry-After`, as a share of the `Retry-After`. */
const MAX_LATENESS = 0.1;

/** The longest pause before the first retry, in milliseconds. */
const FIRST_PAUSE_MS = 500;
