import type { Caller, Connection } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import { saneWaitMs } from "../../core/retry_after.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { QuotaService } from "../../quotas/service.ts";
import { isExhausted } from "../../quotas/window.ts";
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
 * When a request that nobody serves now could be served: the soonest of what its candidates promise.
 *
 * - `soon`: a connection may pass again within a minute. `isBusy`: it has no place free.
 * - `exhausted`: the quotas of the connections, or the limits of the token, are exhausted.
 * - `lasting`: only an administrator can mend it.
 */
export type Outlook =
  | { readonly kind: "soon"; readonly atMs: number; readonly isBusy: boolean }
  | {
    readonly kind: "exhausted";
    readonly atMs: number;
    /** The candidate that a limit of the token keeps away; `undefined`: a quota of a provider. */
    readonly limited?: Candidate;
  }
  | {
    readonly kind: "lasting";
    readonly atMs: number;
    readonly cause: LastingCause;
  };

/** What an outlook depends on, beside the candidates. */
interface OutlookOptions {
  readonly caller: Caller;
  /** What this request has asked already. */
  readonly failed: readonly FailedAttempt[];
  /** When the limit resets that keeps a candidate away, in milliseconds since 1970; `undefined`: none does. */
  readonly limitedUntilMs: (candidate: Candidate) => number | undefined;
}

/** Where {@linkcode outlookOf} looks. */
interface OutlookEvidence {
  readonly health: Pick<Health, "restMs" | "lastingCause">;
  readonly quotas: Pick<QuotaService, "known">;
  readonly clock: Pick<Clock, "now">;
}

/**
 * A cool-down takes a quarter of a minute at most. A longer rest is one that the provider asked for, and no SDK waits
 * longer than this by itself.
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
  // A connection rests for an hour at most, whatever it said, and some of its rest has passed.
  const limitWaitMs = last !== undefined && isLimit(last)
    ? last.retryAfterMs ?? 0
    : 0;
  const waitMs = Math.max(restMs, limitWaitMs);
  if (waitMs < LONG_MS) {
    const isBusy = restMs === 0 && last === undefined;
    return { kind: "soon", atMs: nowMs + restMs, isBusy };
  }
  const resetMs = exhaustedUntilMs(deployment.connection, { quotas, nowMs });
  return { kind: "exhausted", atMs: Math.max(nowMs + waitMs, resetMs) };
}

/** Returns when the last exhausted window resets, in milliseconds since 1970; 0 where no reset makes sense. */
function exhaustedUntilMs(
  connection: Connection,
  { quotas, nowMs }: {
    readonly quotas: Pick<QuotaService, "known">;
    readonly nowMs: number;
  },
): number {
  const resets = quotas.known(connection).filter(isExhausted)
    .map(({ resets_at }) => Date.parse(resets_at ?? ""))
    .filter((ms) => saneWaitMs(ms - nowMs) !== undefined);
  return Math.max(0, ...resets);
}

/** Returns the error for a caller whose request has this outlook and was not tried, or failed otherwise. */
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
 * The errors of what lasts, in the gateway's own words: a provider's are about the request of some other caller. Each
 * has the status of the failure that it repeats.
 */
const LASTING_ERRORS: Readonly<
  Record<LastingKind, (cause: LastingCause) => Error>
> = {
  authentication: refusedCredential,
  permission: refusedCredential,
  // Qwen Code stops at an exhausted quota only where the words say something of a reset, here and below.
  quota: ({ status }) =>
    new UpstreamFailure({
      kind: "quota",
      status,
      code: "insufficient_quota",
      message:
        "The quota of the gateway's account at the model's provider is exhausted, and nobody knows when it will reset. Tell the administrator",
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
    : "failed recently and is left alone for a moment";
  return new GatewayError(
    "overloaded",
    `Cannot serve the model now: every connection that has it ${why}, try again in a moment`,
    {
      ...(isBusy ? { limit: "concurrent requests of every connection" } : {}),
      code: isBusy ? "connection_overloaded" : "connection_cooling_down",
      headers: { "retry-after": String(seconds) },
    },
  );
}

/**
 * Returns the failure for a caller whose connections have nothing left: a 429 that clients know as one that no
 * repetition helps against before that time.
 *
 * @param untilMs Milliseconds since 1970.
 * @param cause What a provider said, if one was asked.
 */
export function exhaustedFailure(
  untilMs: number,
  nowMs: number,
  cause?: Failure | undefined,
): UpstreamFailure {
  const words = cause?.message ??
    "Every connection that has the model has used up its quota";
  return new UpstreamFailure({
    ...cause,
    kind: "rate_limited",
    status: 429,
    message: `${words.replace(/\.$/, "")}. It is available again at ${
      new Date(untilMs).toISOString().replace(/:\d\d\.\d{3}Z$/, " UTC")
        .replace("T", " ")
    }, when the exhausted quota will reset`,
    code: cause?.code ?? "quota_used_up",
    retryAfterMs: untilMs - nowMs,
    resetsAtMs: untilMs,
  });
}
