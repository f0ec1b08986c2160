import { GatewayError } from "../core/error.ts";
import {
  type Failure,
  type FailureKind,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import { hadConnection } from "../upstream/failure.ts";

/**
 * What was wrong with one attempt, as far as it matters for what to do next:
 *
 * - `unreachable`: there was no connection, or it ended before an answer. `broken`: the answer is malformed or broke off.
 * - `silent`: one of the gateway's own deadlines passed.
 * - `trouble`: the upstream says that it is at fault. `rate_limited`: too fast. `exhausted`: nothing left to spend.
 * - `misconfigured`: the gateway's credential or address is wrong. `forbidden`: the credential may not do this,
 *   or the upstream does not say why it refuses.
 * - `oversized`: the answer is good, but longer than the gateway can hold; every other would be as long.
 * - `too_long`: the conversation does not fit the model. `refused`: the upstream finds the request at fault.
 *   `untranslatable`: the gateway does, before it asks anybody.
 */
export type FaultKind =
  | "unreachable"
  | "broken"
  | "silent"
  | "trouble"
  | "rate_limited"
  | "exhausted"
  | "misconfigured"
  | "forbidden"
  | "oversized"
  | "too_long"
  | "refused"
  | "untranslatable";

/** A failed attempt's evidence. */
export interface Fault {
  readonly kind: FaultKind;
  /** The HTTP status, where the upstream named one. */
  readonly status: number | undefined;
  /** How long the upstream says to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whether there had been a connection, where it is `unreachable`: then what was asked may have ended it. */
  readonly wasConnected?: boolean | undefined;
}

/** What was wrong with an attempt that threw; `undefined` when the upstream had no part in it. */
export function faultOf(thrown: unknown): Fault | undefined {
  if (thrown instanceof UpstreamFailure) return faultOfFailure(thrown.failure);
  if (!(thrown instanceof GatewayError)) return undefined;
  const kind = thrown.kind === "invalid_request"
    ? "untranslatable"
    : FAULT_BY_CODE[thrown.code ?? ""];
  return kind && {
    kind,
    status: undefined,
    retryAfterMs: undefined,
    wasConnected: kind === "unreachable" && hadConnection(thrown.cause),
  };
}

/** What was wrong where the upstream said so. */
export function faultOfFailure(
  { kind, status, retryAfterMs, code }: Failure,
): Fault {
  const isSilence = kind === "timeout" && code === "upstream_timeout";
  return {
    kind: isSilence ? "silent" : kindOf(kind, status),
    status,
    retryAfterMs,
  };
}

/** The codes of `upstream/failure.ts`. */
const FAULT_BY_CODE: Readonly<Partial<Record<string, FaultKind>>> = {
  upstream_unreachable: "unreachable",
  upstream_broken: "broken",
  upstream_oversized: "oversized",
  upstream_timeout: "silent",
  upstream_authentication: "misconfigured",
  upstream_redirect: "misconfigured",
};

const FAULT_BY_KIND: Readonly<Record<FailureKind, FaultKind>> = {
  invalid_request: "refused",
  context_too_long: "too_long",
  too_large: "refused",
  filtered: "refused",
  authentication: "misconfigured",
  permission: "forbidden",
  forbidden: "forbidden",
  not_found: "refused",
  quota: "exhausted",
  rate_limited: "rate_limited",
  overloaded: "trouble",
  timeout: "trouble",
  server: "trouble",
  broken: "broken",
  oversized: "oversized",
};

/**
 * Statuses of 500 and above that are worth another attempt: those of docs/failover.md, and Cloudflare's
 * own for an origin in trouble. 501 or 505 would be answered the same again.
 */
const TROUBLE_STATUSES: ReadonlySet<number> = new Set([
  ...[500, 502, 503, 504, 529],
  ...[520, 521, 522, 523, 524],
]);

/** What an error says of itself counts, as far as its HTTP status lets it. */
function kindOf(kind: FailureKind, status: number | undefined): FaultKind {
  const fault = FAULT_BY_KIND[kind];
  const isTrouble = fault === "trouble" || fault === "broken";
  if (!isTrouble || status === undefined || status < 400) return fault;
  if (status === 429) return "rate_limited";
  return status === 408 || TROUBLE_STATUSES.has(status) ? fault : "refused";
}
