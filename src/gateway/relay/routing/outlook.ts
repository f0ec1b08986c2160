import type { Caller } from "../../config/config.ts";
import { GatewayError } from "@gateway/base/error";
import { minuteText } from "@gateway/base/time/minute_text";
import type { Clock } from "@gateway/base/time/timers";
import type { QuotaService } from "../../quotas/service.ts";
import { exhaustedMs } from "../../quotas/window.ts";
import { type Failure, meaningOf, UpstreamFailure } from "@gateway/codecs";
import { redirected, untrusted } from "../../upstream/failure.ts";
import { isLimit, lastingCause } from "../attempt_failure.ts";
import type { FailedAttempt } from "../next_attempts.ts";
import type { Candidate } from "./candidate.ts";
import { type LastingCause, type LastingKind, LONG_MS } from "./cool_down.ts";
import type { Health } from "./health.ts";

/**
 * The earliest time at which a candidate could serve a failed request.
 *
 * - `soon`: a connection may serve it within a minute. `isBusy` is true when the connection has no free slot.
 * - `exhausted`: the quotas of the connections, or the limits of the token, are exhausted.
 * - `lasting`: only an administrator can fix the cause.
 */
export type Outlook =
  | { readonly kind: "soon"; readonly atMs: number; readonly isBusy: boolean }
  | {
    readonly kind: "exhausted";
    readonly atMs: number;
    /** The time from which the gateway tries a connection again, if that is before the reset. */
    readonly tryAtMs?: number;
    /** The candidate that a limit of the token excludes; `undefined` for a provider's quota. */
    readonly limited?: Candidate;
  }
  | {
    readonly kind: "lasting";
    readonly atMs: number;
    readonly cause: LastingCause;
  };

/** The facts that decide an outlook, beside the candidates. */
interface OutlookOptions {
  readonly caller: Caller;
  /** The failed attempts of this request. */
  readonly failed: readonly FailedAttempt[];
  /**
   * Returns the time at which the limit that excludes a candidate resets, in milliseconds since 1970; `undefined` when
   * no limit excludes the candidate.
   */
  readonly limitedUntilMs: (candidate: Candidate) => number | undefined;
}

/** The state that {@linkcode outlookOf} reads. */
interface OutlookEvidence {
  readonly health: Pick<
    Health,
    "restMs" | "waitMs" | "nextTryMs" | "lastingCause"
  >;
  readonly quotas: Pick<QuotaService, "known">;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Returns the outlook of the candidate that can serve a request soonest. If this candidate is exhausted, returns the
 * outlook of the exhausted candidate that is tried first.
 */
export function outlookOf(
  [first, ...others]: readonly [Candidate, ...Candidate[]],
  options: OutlookOptions,
  evidence: OutlookEvidence,
): Outlook {
  let soonest = outlookFor(first, options, evidence);
  let tried = soonest;
  for (const candidate of others) {
    const outlook = outlookFor(candidate, options, evidence);
    if (outlook.atMs < soonest.atMs) soonest = outlook;
    if (triedAtMs(outlook) < triedAtMs(tried)) tried = outlook;
  }
  return soonest.kind === "exhausted" ? tried : soonest;
}

function triedAtMs(outlook: Outlook): number {
  return outlook.kind === "exhausted"
    ? outlook.tryAtMs ?? outlook.atMs
    : Infinity;
}

function outlookFor(
  candidate: Candidate,
  { caller, failed, limitedUntilMs }: OutlookOptions,
  { health, quotas, clock }: OutlookEvidence,
): Outlook {
  const limitMs = limitedUntilMs(candidate);
  if (limitMs !== undefined) {
    return { kind: "exhausted", atMs: limitMs, limited: candidate };
  }
  const { deployment } = candidate;
  const restMs = health.restMs(deployment, caller);
  const last = failed.findLast((one) => one.candidate === candidate)?.failure;
  const cause = last === undefined
    ? health.lastingCause(deployment, caller)
    : lastingCause(last);
  if (cause !== undefined) return { kind: "lasting", atMs: Infinity, cause };
  const nowMs = clock.now();
  // After a single failure, there may be no cool-down yet, or only one for another token.
  const limitWaitMs = last !== undefined && isLimit(last)
    ? last.retryAfterMs ?? 0
    : 0;
  const waitMs = Math.max(health.waitMs(deployment, caller), limitWaitMs);
  if (waitMs < LONG_MS) {
    const isBusy = restMs === 0 && last === undefined;
    return { kind: "soon", atMs: nowMs + restMs, isBusy };
  }
  const resetMs = exhaustedMs(quotas.known(deployment.connection), nowMs);
  const atMs = nowMs + Math.max(waitMs, resetMs);
  const tryAtMs = nowMs + health.nextTryMs(deployment, caller);
  return restMs > 0 && tryAtMs < atMs
    ? { kind: "exhausted", atMs, tryAtMs }
    : { kind: "exhausted", atMs };
}

/** Returns the error of an outlook, for a request whose own failures do not fit the outlook. */
export function outlookError(outlook: Outlook, nowMs: number): Error {
  switch (outlook.kind) {
    case "soon":
      return unavailable(outlook, nowMs);
    case "exhausted":
      return exhaustedFailure(outlook, nowMs);
    case "lasting":
      return LASTING_ERRORS[outlook.cause.kind](outlook.cause);
  }
}

/**
 * The errors of lasting causes, with the status of the original failure. They use the gateway's own text, because a
 * provider's text is about the request of another caller.
 */
const LASTING_ERRORS: Readonly<
  Record<LastingKind, (cause: LastingCause) => Error>
> = {
  authentication: refusedCredential,
  permission: refusedCredential,
  // Qwen Code stops at an exhausted quota only if the text mentions a reset, here and below.
  quota: ({ status }) =>
    new UpstreamFailure({
      kind: "quota",
      status,
      code: "insufficient_quota",
      message:
        "Cannot serve the model: the quota of the gateway's account at its provider is exhausted, and nobody knows when it will reset. Ask the administrator.",
    }),
  misconfigured: redirected,
  untrusted: () => untrusted(),
};

function refusedCredential({ kind, status }: LastingCause): UpstreamFailure {
  const { message } = meaningOf({ kind, status, message: "" }).shown;
  return new UpstreamFailure({ kind, status, message });
}

function unavailable(
  { atMs, isBusy }: Extract<Outlook, { kind: "soon" }>,
  nowMs: number,
): GatewayError {
  const seconds = Math.max(1, Math.ceil((atMs - nowMs) / 1000));
  const why = isBusy
    ? "serves as many requests as it may"
    : "failed recently and is cooling down";
  return new GatewayError(
    "overloaded",
    `Cannot serve the model now: every connection that has it ${why}. Try again in a moment.`,
    {
      ...(isBusy ? { limit: "concurrent requests of every connection" } : {}),
      code: isBusy ? "connection_overloaded" : "connection_cooling_down",
      headers: { "retry-after": String(seconds) },
    },
  );
}

/**
 * Returns the failure of a request whose connections are all exhausted. The failure is a 429. Clients do not retry
 * before the time that it names: the reset, or the gateway's own next try, if that is earlier.
 *
 * @param cause The provider's failure, if there was an attempt.
 */
export function exhaustedFailure(
  { atMs, tryAtMs }: Pick<
    Extract<Outlook, { kind: "exhausted" }>,
    "atMs" | "tryAtMs"
  >,
  nowMs: number,
  cause?: Failure | undefined,
): UpstreamFailure {
  const words = cause?.message ??
    "Cannot serve the model: every connection that has it has used up its quota";
  const untilMs = tryAtMs ?? atMs;
  const advice = tryAtMs === undefined
    ? `It is available again at ${minuteText(atMs)}, when`
    : `It is tried again at ${minuteText(tryAtMs)}, before`;
  return new UpstreamFailure({
    ...cause,
    kind: "rate_limited",
    status: 429,
    message: `${
      words.replace(/\.$/, "")
    }. ${advice} the exhausted quota will reset.`,
    code: cause?.code ?? "quota_used_up",
    retryAfterMs: untilMs - nowMs,
    resetsAtMs: untilMs,
  });
}
