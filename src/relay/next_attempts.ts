import type { Connection, Deployment } from "../config/config.ts";
import { oncePer } from "../core/memo.ts";
import { backoffMs } from "../core/time/backoff.ts";
import type { AttemptFailure, AttemptFailureKind } from "./attempt_failure.ts";
import type { Candidate, Candidates } from "./routing/candidate.ts";

/** An attempt that failed. */
export interface FailedAttempt {
  readonly candidate: Candidate;
  readonly failure: AttemptFailure;
  /** True when the attempt was a probe of a connection's recovery. */
  readonly wasProbe: boolean;
  readonly thrown: unknown;
  /** The connection with a newer key, if its exchanged one was refused. */
  readonly renewed?: Connection | undefined;
}

/** The failed attempts of a request. */
export interface FailedAttempts {
  readonly failed: readonly FailedAttempt[];
  /** Those that decide the next one: a wait makes up for the rate limits before it. */
  readonly counted: readonly FailedAttempt[];
}

/** An attempt that may be made now. */
export interface NextAttempt {
  readonly candidate: Candidate;
  /** The wait before the attempt, in milliseconds. */
  readonly waitMs: number;
  /** True when the last attempt used the same candidate. */
  readonly isRepeat: boolean;
}

/** The maximum number of attempts for a request, before the first byte of output (docs/design.md#failover). */
export const MAX_ATTEMPTS = 3;

/** The longest `Retry-After` that the gateway waits for, in milliseconds. */
const MAX_WAIT_MS = 5000;

/**
 * The next attempt after each kind of failure: the same candidate again, another connection or model, another model, or
 * none.
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

/** Returns true when an attempt sent its request. One that the translation refused was none. */
export function wasSent({ failure: { kind } }: FailedAttempt): boolean {
  return kind !== "untranslatable";
}

/** Returns true when the translation refused the request for a candidate, or for one with the same translation. */
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

/** The settings on which a refusal depends: connections with equal settings refuse the same requests. */
const translationOf = oncePer(({ connection, model }: Deployment) => {
  const { service, endpoints, strict, omit } = connection;
  const { upstream, maxOutputTokens = null, omit: omitted } = model;
  return JSON.stringify(
    [service, endpoints, strict, omit, upstream, maxOutputTokens, omitted],
  );
});

/**
 * Returns the attempts that may follow those that failed, the best first; none when the caller gets the error.
 * Candidates that the translation refused are left out.
 *
 * A short `Retry-After` keeps a request on its connection, for its prompt cache. In all other cases an untried
 * connection comes first, then the same one after a pause. The last attempt is reserved for the fallbacks.
 *
 * After the loss of a kept connection the same candidate comes first, at once and as if it were untried: it was not
 * reached, and a conversation stays where it is.
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
  const attempts = attemptsAfter(candidates, { sent, left, random });
  return attempts.filter(({ candidate }) => !isRefused(candidate, failed));
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
  const retry = RETRY_BY_KIND[failure.kind];
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
  const again = retry === "again" && !wasProbe
    ? repeats(candidate, failure, { failures: sent.length, random })
    : [];
  const here = failure.wasLost
    ? [fresh(candidate), ...others]
    : failure.retryAfterMs === undefined
    ? [...others, ...again]
    : [...again, ...others];
  return isOwn && left > 1
    ? [...here, ...otherModels]
    : [...otherModels, ...here];
}

function fresh(candidate: Candidate): NextAttempt {
  return { candidate, waitMs: 0, isRepeat: false };
}

/** Returns a retry of the same candidate; none if the upstream asks for a longer wait than `MAX_WAIT_MS`. */
function repeats(
  candidate: Candidate,
  { retryAfterMs }: AttemptFailure,
  { failures, random }: {
    readonly failures: number;
    readonly random: () => number;
  },
): readonly NextAttempt[] {
  if (retryAfterMs === undefined) {
    const waitMs = backoffMs(failures, { firstMs: FIRST_PAUSE_MS, random });
    return [{ candidate, waitMs, isRepeat: true }];
  }
  if (retryAfterMs > MAX_WAIT_MS) return [];
  const waitMs = retryAfterMs * (1 + MAX_LATENESS * random());
  return [{ candidate, waitMs, isRepeat: true }];
}

/** The longest extra wait after a `Retry-After`, as a share of it. */
const MAX_LATENESS = 0.1;

/** The longest first pause, in milliseconds. */
const FIRST_PAUSE_MS = 500;
