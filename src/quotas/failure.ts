import type { FailureKind } from "../protocols/canonical/failure/failure.ts";

/** Why a quota could not be read (docs/quotas.md#states); `provider_limits_` stands before it on the wire. */
export type QuotaFailureReason =
  /** A setting is missing; the administrator must complete the connection. */
  | "configuration_required"
  /** The provider refuses the connection's credential. */
  | "unauthorized"
  | "rate_limited"
  /** No connection, or no answer in time. */
  | "unreachable"
  /** An answer that cannot be understood. */
  | "invalid_response"
  /** The credential is good but has no plan, or the plan has ended. */
  | "no_plan"
  /** The provider tells it with its answers alone, and none has been relayed so far. */
  | "not_told_yet"
  /** Anything else that the provider answers instead of a quota. */
  | "unavailable";

/** Everything about a {@linkcode QuotaFailure} beyond its kind and message. */
export interface QuotaFailureOptions {
  /** Default: what the kind means. */
  readonly reason?: QuotaFailureReason;
  /** How long the provider asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** What led to it; for the log only. */
  readonly cause?: unknown;
}

/**
 * One connection's quota could not be read. Its message is fit for staff: it holds nothing that the
 * provider sent and no part of a credential.
 */
export class QuotaFailure extends Error {
  override readonly name = "QuotaFailure";
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;
  /** What the wire and the log call it. */
  readonly reason: QuotaFailureReason;

  constructor(
    kind: FailureKind,
    message: string,
    options: QuotaFailureOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.reason = options.reason ?? reasonOf(kind);
  }
}

/** Why a quota could not be read, of what went wrong. */
export function reasonOf(kind: FailureKind): QuotaFailureReason {
  return REASON_BY_KIND[kind];
}

const REASON_BY_KIND: Readonly<Record<FailureKind, QuotaFailureReason>> = {
  misconfigured: "configuration_required",
  authentication: "unauthorized",
  permission: "unauthorized",
  forbidden: "unauthorized",
  rate_limited: "rate_limited",
  unreachable: "unreachable",
  untrusted: "unreachable",
  silent: "unreachable",
  broken: "invalid_response",
  oversized: "invalid_response",
  quota: "no_plan",
  invalid_request: "unavailable",
  context_too_long: "unavailable",
  too_large: "unavailable",
  filtered: "unavailable",
  not_found: "unavailable",
  overloaded: "unavailable",
  timeout: "unavailable",
  server: "unavailable",
};

/** Whether a word from elsewhere is a kind of failure. */
export function isFailureKind(word: unknown): word is FailureKind {
  return typeof word === "string" && Object.hasOwn(REASON_BY_KIND, word);
}
