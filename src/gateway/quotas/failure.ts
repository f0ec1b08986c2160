import type { FailureKind } from "@gateway/codecs";

/**
 * The reason why a quota cannot be read (docs/quotas.md#states). The API prefixes the reason with `provider_limits_`.
 */
export type QuotaFailureReason =
  /** A setting is missing. The administrator must complete the connection. */
  | "configuration_required"
  /** The provider rejects the connection's credential. */
  | "unauthorized"
  | "rate_limited"
  /** The provider cannot be reached or does not respond in time. */
  | "unreachable"
  /** The response cannot be parsed. */
  | "invalid_response"
  /** The credential is valid but has no plan, or the plan has ended. */
  | "no_plan"
  /** The provider reports the quota only with its responses, and no response has been relayed so far. */
  | "not_known_yet"
  /** The provider sent any other response without a quota. */
  | "unavailable";

/** The optional parts of a {@linkcode QuotaFailure}. */
interface QuotaFailureOptions {
  /** Default: the reason that belongs to the kind of failure. */
  readonly reason?: QuotaFailureReason;
  /** The time that the provider wants the gateway to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The original error, for the log only. */
  readonly cause?: unknown;
}

/**
 * The failure to read one connection's quota. The message is safe for staff: it holds no text of the provider and no
 * part of a credential.
 */
export class QuotaFailure extends Error {
  override readonly name = "QuotaFailure";
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;
  /** The reason in the API and the log. */
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

/**
 * Returns the failure to read a quota.
 *
 * @param why The end of a sentence, and the advice.
 */
export function unreadable(
  kind: FailureKind,
  why: string,
  options?: QuotaFailureOptions,
): QuotaFailure {
  return new QuotaFailure(kind, `Cannot read the quota: ${why}`, options);
}

/** Returns the reason for a kind of failure. */
export function reasonOf(kind: FailureKind): QuotaFailureReason {
  return REASON_BY_KIND[kind];
}

const REASON_BY_KIND: Readonly<Record<FailureKind, QuotaFailureReason>> = {
  misconfigured: "configuration_required",
  authentication: "unauthorized",
  permission: "unauthorized",
  forbidden: "unauthorized",
  unauthenticated: "unauthorized",
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

/** Returns true when a word is a kind of failure. */
export function isFailureKind(word: unknown): word is FailureKind {
  return typeof word === "string" && Object.hasOwn(REASON_BY_KIND, word);
}
