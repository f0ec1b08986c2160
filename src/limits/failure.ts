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
  /** Anything else that the provider answers instead of a quota. */
  | "unavailable";

/** Everything about a {@linkcode QuotaFailure} beyond its reason and message. */
export interface QuotaFailureOptions {
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
  readonly reason: QuotaFailureReason;
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: QuotaFailureReason,
    message: string,
    options: QuotaFailureOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}
