import type { Caller, Connection } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import { saneWaitMs } from "../../core/retry_after.ts";
import { minuteText } from "../../core/time/minute_text.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { QuotaService } from "../../quotas/service.ts";
import { isExhausted, limitsEveryModel } from "../../quotas/window.ts";
import {
  type Failure,
  type LastingKind,
  REFUSED_CREDENTIAL,
  UpstreamFailure,
} from "../../protocols/canonical/failure/failure.ts";
import { redirected, untrusted } from "../../upstream/failure.ts";
import { isLimit, lastingCause } from "../attempt_failure.ts";
import type { FailedAttempt } from "../next_attempts.ts";
import type { Candidate } from "./candidate.ts";
import type { LastingCause } from "./cool_down.ts";
import type { Health } from "./health.ts";

/**
 * The earliest time at which a request that failed could be served, over all its candidates.
 *
 * - `soon`: a connection may serve it within a minute. `isBusy`: the connection has no free slot.
 * - `exhausted`: the quotas of the connections, or the limits of the token, are exhausted.
 * - `lasting`: only an administrator can fix it.
 */
export type Outlook =
  | { readonly kind: "soon"; readonly atMs: number; readonly isBusy: boolean }
  | {
    readonly kind: "exhausted";
    readonly atMs: number;
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
   * Returns the time at which the limit that excludes a candidate resets, in milliseconds since 1970; `undefined` for
   * none.
   */
  readonly limitedUntilMs: (candidate: Candidate) => number | undefined;
}

/** The state that {@linkcode outlookOf} reads. */
interface OutlookEvidence {
  readonly health: Pick<Health, "restMs" | "waitMs" | "lastingCause">;
  readonly quotas: Pick<QuotaService, "known">;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Waits of this length or more come from a provider, in milliseconds. The gateway's own cool-downs take 15 seconds at
 * most. No SDK waits longer than this by itself.
 */
export const LONG_MS = 60_000;

/** Returns the outlook of a request; the candidates are in the order of preference. */
export function outlookOf(
  [first, ...others]: readonly [Candidate, ...Candidate[]],
  options: OutlookOptions,
  evidence: OutlookEvidence,
): Outlook {
  let soonest = outlookFor(first, options, evidence);
  for (const candidate of others) {
    const outlook = outlookFor(candidate, options, evidence);
    if (outlook.atMs < soonest.atMs) soonest = outlook;
  }
  return soonest;
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
  // A cool-down of a single failure may not have begun, or may be that of another token.
  const limitWaitMs = last !== undefined && isLimit(last)
    ? last.retryAfterMs ?? 0
    : 0;
  const waitMs = Math.max(health.waitMs(deployment, caller), limitWaitMs);
  if (waitMs < LONG_MS) {
    const isBusy = restMs === 0 && last === undefined;
    return { kind: "soon", atMs: nowMs + restMs, isBusy };
  }
  const resetMs = exhaustedUntilMs(deployment.connection, { quotas, nowMs });
  return { kind: "exhausted", atMs: Math.max(nowMs + waitMs, resetMs) };
}

/**
 * Returns the time at which the last exhausted window resets, in milliseconds since 1970; 0 if no reset time is
 * plausible. Windows of single models or features do not count, because they may not concern the request.
 */
function exhaustedUntilMs(
  connection: Connection,
  { quotas, nowMs }: {
    readonly quotas: Pick<QuotaService, "known">;
    readonly nowMs: number;
  },
): number {
  const resets = quotas.known(connection)
    .filter((window) => isExhausted(window) && limitsEveryModel(window))
    .map(({ resets_at }) => Date.parse(resets_at ?? ""))
    .filter((ms) => saneWaitMs(ms - nowMs) !== undefined);
  return Math.max(0, ...resets);
}

/** Returns the error of an outlook, for a request whose own failures do not fit it. */
export function outlookError(outlook: Outlook, nowMs: number): Error {
  switch (outlook.kind) {
    case "soon":
      return unavailable(outlook, nowMs);
    case "exhausted":
      return exhaustedFailure(outlook.atMs, nowMs);
    case "lasting":
      return LASTING_ERRORS[outlook.cause.kind](outlook.cause);
  }
}

/**
 * The errors of lasting causes, with the status of the original failure. They use the gateway's own text, because a
 * provider's is about the request of another caller.
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
  return new UpstreamFailure({ kind, status, message: REFUSED_CREDENTIAL });
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
 * Returns the failure of a request whose connections are all exhausted. It is a 429, after which clients do not retry
 * before the reset.
 *
 * @param untilMs Milliseconds since 1970.
 * @param cause The provider's failure, if there was an attempt.
 */
export function exhaustedFailure(
  untilMs: number,
  nowMs: number,
  cause?: Failure | undefined,
): UpstreamFailure {
  const words = cause?.message ??
    "Cannot serve the model: every connection that has it has used up its quota";
  return new UpstreamFailure({
    ...cause,
    kind: "rate_limited",
    status: 429,
    message: `${words.replace(/\.$/, "")}. It is available again at ${
      minuteText(untilMs)
    }, when the exhausted quota will reset.`,
    code: cause?.code ?? "quota_used_up",
    retryAfterMs: untilMs - nowMs,
    resetsAtMs: untilMs,
  });
}
