import { Http1Failure } from "@gateway/http1";
import { GatewayError } from "@gateway/base/error";
import {
  type Failure,
  type FailureKind,
  REMEDIES,
  UpstreamFailure,
} from "@gateway/codecs";
import {
  GatewayShortage,
  hadSocket,
  UpstreamCallError,
} from "../upstream/failure.ts";
import { isLastingKind, type LastingCause } from "./routing/cool_down.ts";

/**
 * The kind of a failed attempt. `untranslatable` means that the gateway rejected the request before it sent anything,
 * `gateway_shortage` that the gateway's machine could not open a connection.
 */
export type AttemptFailureKind =
  | FailureKind
  | "untranslatable"
  | "gateway_shortage";

/** The evidence of a failed attempt. */
export interface AttemptFailure {
  readonly kind: AttemptFailureKind;
  /** The HTTP status of the response, if there was one. */
  readonly status: number | undefined;
  /** The wait that the upstream asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /**
   * True when an `unreachable` upstream had accepted a connection. The request itself may then have ended the
   * connection.
   */
  readonly wasConnected?: boolean | undefined;
  /** True when a kept connection was lost. Such a loss shows nothing about the upstream; see {@linkcode wasLost}. */
  readonly wasLost?: boolean | undefined;
  /** If the connection ended before any byte of an answer: the time from the request to that end, in milliseconds. */
  readonly silentMs?: number | undefined;
}

/** Returns true when the attempt hit a rate limit or a quota of the upstream. */
export function isLimit({ kind }: AttemptFailure): boolean {
  return kind === "rate_limited" || kind === "quota";
}

/** Returns the cause of a failure that lasts until an administrator fixes it; `undefined` for other failures. */
export function lastingCause(
  { kind, status, retryAfterMs }: AttemptFailure,
): LastingCause | undefined {
  // A provider that sends a retry time will serve again after it.
  return isLastingKind(kind) && retryAfterMs === undefined
    ? { kind, status }
    : undefined;
}

/** Returns the failure of an attempt that threw; `undefined` when the upstream did not cause the error. */
export function attemptFailureOf(thrown: unknown): AttemptFailure | undefined {
  if (thrown instanceof UpstreamFailure) return evidenceOf(thrown.failure);
  const kind = kindOfError(thrown);
  return kind && {
    kind,
    status: undefined,
    retryAfterMs: undefined,
    wasConnected: kind === "unreachable" && thrown instanceof Error &&
      hadSocket(thrown.cause),
    wasLost: thrown instanceof UpstreamCallError &&
      thrown.cause instanceof Http1Failure && thrown.cause.wasLost,
    silentMs: thrown instanceof Error && thrown.cause instanceof Http1Failure
      ? thrown.cause.silentMs
      : undefined,
  };
}

function kindOfError(thrown: unknown): AttemptFailureKind | undefined {
  if (thrown instanceof UpstreamCallError) return thrown.failureKind;
  if (thrown instanceof GatewayShortage) return "gateway_shortage";
  return thrown instanceof GatewayError && thrown.kind === "invalid_request"
    ? "untranslatable"
    : undefined;
}

/** Converts an upstream's failure to the evidence of an attempt. */
export function evidenceOf(
  { kind, status, retryAfterMs }: Failure,
): AttemptFailure {
  return { kind: withStatus(kind, status), status, retryAfterMs };
}

/**
 * The HTTP statuses after which another attempt is worthwhile: those in docs/failover.md, and those that Cloudflare
 * sends when the server behind Cloudflare fails. 501 and 505 are left out, because every attempt would get the same
 * status.
 */
const PASSING_STATUSES: ReadonlySet<number> = new Set([
  ...[408, 500, 502, 503, 504, 529],
  ...[520, 521, 522, 523, 524],
]);

/** Returns the kind that an error names. If the HTTP status contradicts that kind, returns the kind of the status. */
function withStatus(
  kind: FailureKind,
  status: number | undefined,
): FailureKind {
  const isOfUpstream = REMEDIES[kind] === "wait" && kind !== "rate_limited";
  if (!isOfUpstream || status === undefined || status < 400) return kind;
  if (status === 429) return "rate_limited";
  return PASSING_STATUSES.has(status) ? kind : "invalid_request";
}
