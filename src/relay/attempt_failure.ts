import { GatewayError } from "../core/error.ts";
import {
  type Failure,
  type FailureKind,
  isLastingKind,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import { hadConnection, UpstreamCallError } from "../upstream/failure.ts";
import type { LastingCause } from "./routing/cool_down.ts";

/** What was wrong with one attempt; `untranslatable`: the gateway finds the request at fault before it asks anybody. */
export type AttemptFailureKind = FailureKind | "untranslatable";

/** A failed attempt's evidence. */
export interface AttemptFailure {
  readonly kind: AttemptFailureKind;
  /** The HTTP status, where the upstream named one. */
  readonly status: number | undefined;
  /** How long the upstream says to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whether there had been a connection, where it is `unreachable`: then what was asked may have ended it. */
  readonly wasConnected?: boolean | undefined;
}

/** Whether a limit of the upstream was reached: of requests in a time, or of a quota. */
export function isLimit({ kind }: AttemptFailure): boolean {
  return kind === "rate_limited" || kind === "quota";
}

/** Returns why a failure lasts until an administrator mends it; `undefined` where it may pass by itself. */
export function lastingCause(
  { kind, status, retryAfterMs }: AttemptFailure,
): LastingCause | undefined {
  // A provider that says how long to wait has something left then.
  return isLastingKind(kind) && retryAfterMs === undefined
    ? { kind, status }
    : undefined;
}

/** What was wrong with an attempt that threw; `undefined` when the upstream had no part in it. */
export function attemptFailureOf(thrown: unknown): AttemptFailure | undefined {
  if (thrown instanceof UpstreamFailure) return evidenceOf(thrown.failure);
  const kind = kindOfError(thrown);
  return kind && {
    kind,
    status: undefined,
    retryAfterMs: undefined,
    wasConnected: kind === "unreachable" && thrown instanceof Error &&
      hadConnection(thrown.cause),
  };
}

function kindOfError(thrown: unknown): AttemptFailureKind | undefined {
  if (thrown instanceof UpstreamCallError) return thrown.failureKind;
  return thrown instanceof GatewayError && thrown.kind === "invalid_request"
    ? "untranslatable"
    : undefined;
}

/** What was wrong where the upstream said so. */
export function evidenceOf(
  { kind, status, retryAfterMs }: Failure,
): AttemptFailure {
  return { kind: withStatus(kind, status), status, retryAfterMs };
}

/** The upstream's own trouble, which may be over at the next attempt. */
const PASSING: ReadonlySet<FailureKind> = new Set([
  "overloaded",
  "timeout",
  "server",
  "broken",
]);

/**
 * Statuses of 500 and above that are worth another attempt: those of docs/failover.md, and Cloudflare's
 * own for an origin in trouble. 501 or 505 would be answered the same again.
 */
const PASSING_STATUSES: ReadonlySet<number> = new Set([
  ...[500, 502, 503, 504, 529],
  ...[520, 521, 522, 523, 524],
]);

/** What an error says of itself counts, as far as its HTTP status lets it. */
function withStatus(
  kind: FailureKind,
  status: number | undefined,
): FailureKind {
  if (!PASSING.has(kind) || status === undefined || status < 400) return kind;
  if (status === 429) return "rate_limited";
  return status === 408 || PASSING_STATUSES.has(status)
    ? kind
    : "invalid_request";
}
