import { asSentence, type ErrorKind } from "@gateway/base/error";
import type { Raw } from "../content/extras.ts";

/** A failure of an upstream, or an error that the upstream reports. The caller may see the upstream's text. */
export interface Failure {
  readonly kind: FailureKind;
  /** The HTTP status; 200 or absent for a failure inside an answer. */
  readonly status?: number | undefined;
  /** The upstream's message, or the gateway's message if the upstream sent none; never empty. */
  readonly message: string;
  /** The upstream's error type, for the log and for the codec of the upstream's protocol. */
  readonly type?: Raw | undefined;
  /** A stable identifier of the failure, such as `context_length_exceeded`. */
  readonly code?: string | undefined;
  /** The request field at fault, in the upstream's spelling. */
  readonly param?: string | undefined;
  /** The time to wait before a retry, as the upstream gave it. */
  readonly retryAfterMs?: number | undefined;
  /** The time at which an exhausted quota resets, in milliseconds since 1970. An earlier retry would fail. */
  readonly resetsAtMs?: number | undefined;
  /** The time zone at whose midnight an exhausted quota resets. */
  readonly resetsDaily?: string | undefined;
}

/**
 * The kinds of failure between the gateway and an upstream. Each protocol and the log derive their codes from the kind.
 *
 * - `invalid_request`: the upstream rejected the request as malformed or unsupported.
 * - `context_too_long`: the prompt is too long for the model. `too_large`: the body is too large.
 * - `filtered`: a safety system rejected the request.
 * - `authentication`: about the gateway's credential. `permission`: about the rights of the credential. `not_found`:
 *   about the model. `forbidden`: a 403 without a known reason.
 * - `unauthenticated`: the caller's own token was removed in the meantime.
 * - `quota`: the quota is used up, and waiting does not help soon. `rate_limited`: too many requests, waiting helps.
 * - `overloaded`, `timeout`, `server`: an error of the upstream itself.
 * - `unreachable`: there was no connection, or the connection ended before a response.
 * - `untrusted`: there was no connection, because the certificate is not valid.
 * - `silent`: a timeout of the gateway expired.
 * - `broken`: the answer is malformed or incomplete.
 * - `misconfigured`: the gateway's URL of the upstream is wrong.
 * - `oversized`: the answer is valid so far, but longer than the gateway can hold.
 */
export type FailureKind =
  | "invalid_request"
  | "context_too_long"
  | "too_large"
  | "filtered"
  | "authentication"
  | "unauthenticated"
  | "permission"
  | "forbidden"
  | "not_found"
  | "quota"
  | "rate_limited"
  | "overloaded"
  | "timeout"
  | "server"
  | "unreachable"
  | "untrusted"
  | "silent"
  | "broken"
  | "misconfigured"
  | "oversized";

/**
 * The remedy for each failure: waiting, another request, or an administrator. The remedy decides whether clients may
 * repeat the request, and which error a connection in its cool-down returns (docs/failover.md#retry-or-stop).
 */
export const REMEDIES = {
  unreachable: "wait",
  silent: "wait",
  broken: "wait",
  overloaded: "wait",
  timeout: "wait",
  server: "wait",
  rate_limited: "wait",
  authentication: "administrator",
  permission: "administrator",
  quota: "administrator",
  misconfigured: "administrator",
  untrusted: "administrator",
  forbidden: "other request",
  unauthenticated: "other request",
  invalid_request: "other request",
  context_too_long: "other request",
  too_large: "other request",
  filtered: "other request",
  not_found: "other request",
  oversized: "other request",
} as const satisfies Record<
  FailureKind,
  "wait" | "other request" | "administrator"
>;

/** What a failure means for the caller. */
interface FailureMeaning {
  /**
   * The failure as the caller may see it. The text of errors about the gateway's credential is hidden
   * (docs/design.md#errors). A code that is a sentence, as some providers send, is removed.
   */
  readonly shown: Failure;
  /** True when the upstream's message is hidden from callers. */
  readonly isHidden: boolean;
  /** Returns true when clients must not repeat the request, although `status` would make some clients repeat it. */
  isFinal(status: number): boolean;
}

/** Returns what a failure means. */
export function meaningOf(failure: Failure): FailureMeaning {
  return {
    shown: shownFailure(failure),
    isHidden: SHOWN_BY_KIND[failure.kind] !== undefined,
    isFinal: (status) => isFinal(failure, status),
  };
}

function isFinal(failure: Failure, status: number): boolean {
  const { kind, retryAfterMs, resetsAtMs } = failure;
  if (resetsAtMs !== undefined) return true;
  if (REMEDIES[kind] === "wait") return false;
  // A provider that asks for a wait serves again after the wait.
  if (REMEDIES[kind] === "administrator") return retryAfterMs === undefined;
  // A status such as 409 or 501 does not show whether the request is at fault.
  return kind !== "invalid_request" && isRepeated(status);
}

/** Returns true when some clients automatically repeat a request after this status. */
function isRepeated(status: number): boolean {
  return status >= 500 || status === 401 || status === 403 || status === 429;
}

/** An error with a {@linkcode Failure}. Decoders of upstream bodies throw only this error. */
export class UpstreamFailure extends Error {
  override readonly name = "UpstreamFailure";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/**
 * The instruction for a broken answer. opencode retries after a broken stream only when the message matches its
 * pattern `try again later`
 * (https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/retry.ts).
 */
const TRY_AGAIN = "Try again later.";

/** Returns the failure of an upstream that violates its protocol. `fault` says how, in one sentence. */
export function brokenAnswer(fault: string): Failure {
  return { kind: "broken", message: `${asSentence(fault)} ${TRY_AGAIN}` };
}

/** The failure of a stream that exceeds `MAX_EMPTY_BYTES`. */
export const EMPTY_ANSWER: Failure = brokenAnswer(
  "The provider sent 16 MiB without any output",
);

/** Returns the error for a whole answer that the gateway cannot read for the given reason. */
export function unusableAnswer(reason: string): UpstreamFailure {
  return new UpstreamFailure({
    kind: "broken",
    status: 502,
    message:
      `Cannot use the answer of the model's provider: ${reason}. Try again, or report it to the administrator.`,
    code: "upstream_broken",
  });
}

/** Returns the error of a body that is no answer of the provider's protocol. */
export function notAnAnswer(): UpstreamFailure {
  return new UpstreamFailure(
    brokenAnswer("The provider's response is not an answer"),
  );
}

/** Returns the failure of an answer above a size limit of the gateway, with a sentence about the size. */
export function oversizedAnswer(fault: string): Failure {
  return {
    kind: "oversized",
    message: `${asSentence(fault)} Ask for a shorter answer.`,
    code: "upstream_oversized",
  };
}

/** Returns the error of an answer that the gateway cannot hold. */
export function tooLong(): UpstreamFailure {
  return new UpstreamFailure(
    oversizedAnswer(
      "The provider's answer is longer than the gateway can hold",
    ),
  );
}

/** The message that a caller gets when the provider rejects the gateway's own credential. */
const REFUSED_CREDENTIAL =
  "The model's provider does not accept the gateway's credential. Report it to the administrator.";

/** The message that a caller gets when the provider rejects a request without a reason. */
const REFUSED_WITHOUT_REASON =
  "The model's provider rejected the request without a reason. Try another request, or report it to the administrator.";

/** The failures that callers see in place of failures whose text may reveal the gateway's key or account. */
const SHOWN_BY_KIND: Readonly<Partial<Record<FailureKind, Failure>>> = {
  authentication: hidden(REFUSED_CREDENTIAL),
  permission: hidden(REFUSED_CREDENTIAL),
  forbidden: hidden(REFUSED_WITHOUT_REASON),
};

function hidden(message: string): Failure {
  return {
    kind: "server",
    status: 502,
    message,
    code: "upstream_authentication",
  };
}

/** Returns a failure as the caller may see it; see {@linkcode FailureMeaning.shown}. */
export function shownFailure(failure: Failure): Failure {
  const shown = SHOWN_BY_KIND[failure.kind];
  if (shown !== undefined) return shown;
  const { code } = failure;
  return code === undefined || CODE_REGEXP.test(code)
    ? failure
    : { ...failure, code: undefined };
}

/**
 * Returns a failure for use inside a stream. There, clients see no status and decide on a retry by words such as
 * `server_error`. If only the upstream's code or type contains such a word, the word is added to the message, because
 * the caller's protocol spells codes and types differently.
 */
export function asStreamError(failure: Failure): Failure {
  const { kind, code, type, message } = failure;
  const isPassing = kind === "server" || kind === "overloaded" ||
    kind === "rate_limited";
  if (!isPassing || PASSING_REGEXP.test(message)) return failure;
  const word = [code, type?.value].find((name) =>
    name !== undefined && CODE_REGEXP.test(name) && PASSING_REGEXP.test(name)
  );
  return word === undefined
    ? failure
    : { ...failure, message: `${message} (${word})` };
}

/** The words for a temporary failure or a failure of the server. */
const PASSING_REGEXP =
  /server[_ ]error|internal[_ ](?:server[_ ])?error|overloaded|unavailable|rate[_ ]limit|try again/i;

/** Returns true for a request that alone exceeds a rate limit. With status 413, `too_large` means a long body. */
export function isOverLimit(
  { kind, status }: { readonly kind: string; readonly status?: unknown },
): boolean {
  return kind === "too_large" && status !== 413;
}

/**
 * Returns the provider's status. Returns `undefined` for a status of success, and for a status that does not fit the
 * kind: a limit, or a prompt that is too long.
 */
export function shownStatus({ kind, status }: Failure): number | undefined {
  if (status === undefined || status < 400 || status > 599) return undefined;
  const isHidden = status !== 429 &&
      (kind === "rate_limited" || kind === "quota" && status !== 402) ||
    kind === "context_too_long";
  return isHidden ? undefined : status;
}

const CODE_REGEXP = /^[\w.:-]{1,64}$/;

/** Returns the kind of failure for an HTTP status, when the body gives no reason. */
export function kindOfStatus(status: number): FailureKind {
  const kind = KIND_BY_STATUS[status];
  if (kind !== undefined) return kind;
  return status >= 400 && status < 500 ? "invalid_request" : "server";
}

const KIND_BY_STATUS: Readonly<Record<number, FailureKind>> = {
  401: "authentication",
  402: "quota",
  403: "forbidden",
  404: "not_found",
  408: "timeout",
  413: "too_large",
  429: "rate_limited",
  503: "overloaded",
  504: "timeout",
  529: "overloaded",
};

/** The status and the type of each kind, where the protocols agree. The status is for errors without a status. */
export const SHAPE_BY_KIND: Readonly<
  Record<FailureKind, readonly [status: number, type: string]>
> = {
  invalid_request: [400, "invalid_request_error"],
  context_too_long: [400, "invalid_request_error"],
  too_large: [413, "request_too_large"],
  filtered: [400, "invalid_request_error"],
  authentication: [502, "upstream_error"],
  unauthenticated: [401, "authentication_error"],
  permission: [502, "upstream_error"],
  forbidden: [502, "upstream_error"],
  not_found: [404, "not_found_error"],
  quota: [429, "insufficient_quota"],
  rate_limited: [429, "rate_limit_error"],
  overloaded: [503, "overloaded_error"],
  timeout: [504, "timeout_error"],
  server: [502, "upstream_error"],
  unreachable: [502, "upstream_error"],
  untrusted: [502, "upstream_error"],
  silent: [504, "timeout_error"],
  broken: [502, "upstream_error"],
  misconfigured: [502, "upstream_error"],
  oversized: [502, "upstream_error"],
};

/** The `type` of each error of the gateway, where the protocols agree. */
export const ERROR_TYPES: Readonly<Record<ErrorKind, string>> = {
  invalid_request: "invalid_request_error",
  unauthenticated: "authentication_error",
  forbidden: "permission_error",
  not_found: "not_found_error",
  method_not_allowed: "invalid_request_error",
  body_timeout: "timeout_error",
  body_too_large: "request_too_large",
  unsupported_media_type: "invalid_request_error",
  upgrade_required: "invalid_request_error",
  rate_limited: "rate_limit_error",
  internal: "server_error",
  upstream: "upstream_error",
  overloaded: "overloaded_error",
  timeout: "timeout_error",
};
