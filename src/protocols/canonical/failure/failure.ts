import type { Raw } from "../content/extras.ts";

/** What an upstream did wrong, or said that we did. Its text is the upstream's and may be shown to the caller. */
export interface Failure {
  readonly kind: FailureKind;
  /** The HTTP status; 200 or absent when it came inside an answer. */
  readonly status?: number | undefined;
  /** The upstream's own words, or ours where it had none; never empty. */
  readonly message: string;
  /** The upstream's error type, for the log and its own codec. */
  readonly type?: Raw | undefined;
  /** A stable identifier, such as `context_length_exceeded`. */
  readonly code?: string | undefined;
  /** The request field at fault, in the upstream's spelling. */
  readonly param?: string | undefined;
  /** How long the upstream says to wait. */
  readonly retryAfterMs?: number | undefined;
  /** When a quota that is used up begins again, in milliseconds since 1970; to try again before is no use. */
  readonly resetsAtMs?: number | undefined;
}

/**
 * Everything that can go wrong between the gateway and an upstream, as the upstream says it or as the gateway sees it.
 * Whoever has words of their own for it makes them of these.
 *
 * - `invalid_request`: refused as malformed or unsupported.
 * - `context_too_long`: the prompt does not fit. `too_large`: the body does not.
 * - `filtered`: a safety system refused the request.
 * - `authentication`, `permission`, `not_found`: about the gateway's credential, its rights or the model.
 *   `forbidden`: a 403 that does not say what it is about.
 * - `quota`: nothing left to spend, waiting does not help soon. `rate_limited`: too fast, waiting helps.
 * - `overloaded`, `timeout`, `server`: the upstream's own trouble.
 * - `unreachable`: there was no connection, or it ended before an answer.
 * - `untrusted`: there was no connection, because its certificate is not valid.
 * - `silent`: a deadline of the gateway's own passed.
 * - `broken`: the answer is malformed, or ended before its end.
 * - `misconfigured`: the gateway's address of it is wrong.
 * - `oversized`: the answer is good as far as it came, but longer than the gateway can hold.
 */
export type FailureKind =
  | "invalid_request"
  | "context_too_long"
  | "too_large"
  | "filtered"
  | "authentication"
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
 * What helps against each failure: to wait, another request, or only an administrator. Whether clients may repeat a
 * request follows from it, and what a connection that cools down says (docs/failover.md#retry-or-stop).
 */
const REMEDY_BY_KIND = {
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

/** Returns whether a kind of failure may pass by itself. */
export function mayPass(kind: FailureKind): boolean {
  return REMEDY_BY_KIND[kind] === "wait";
}

/** The failures that last until an administrator mends them. */
export type LastingKind = {
  [Kind in FailureKind]: (typeof REMEDY_BY_KIND)[Kind] extends "administrator"
    ? Kind
    : never;
}[FailureKind];

/** Returns whether a kind of failure lasts until an administrator mends it. */
export function isLastingKind(kind: unknown): kind is LastingKind {
  const remedies: Readonly<Record<string, string>> = REMEDY_BY_KIND;
  return typeof kind === "string" && Object.hasOwn(remedies, kind) &&
    remedies[kind] === "administrator";
}

/**
 * Returns whether clients must not repeat a request that failed so, though they would.
 *
 * @param status The one that the caller gets.
 */
export function isFinal(failure: Failure, status: number): boolean {
  const { kind, retryAfterMs, resetsAtMs } = failure;
  if (resetsAtMs !== undefined) return true;
  if (mayPass(kind)) return false;
  // A provider that says how long to wait has something left then.
  if (isLastingKind(kind)) return retryAfterMs === undefined;
  // Of a 409 or a 501 nobody knows whether it is due to the request.
  return kind !== "invalid_request" && isRepeated(status);
}

/** Returns whether some client repeats errors of this status by itself. */
function isRepeated(status: number): boolean {
  return status >= 500 || status === 401 || status === 403 || status === 429;
}

/** A {@linkcode Failure} on its way up; the only thing that decoders of upstream bodies throw. */
export class UpstreamFailure extends Error {
  override readonly name = "UpstreamFailure";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/**
 * What a caller is told to do about an answer that broke. opencode goes on with a broken stream only where the
 * text matches a pattern of its own, and this does: `try again later`
 * (https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/retry.ts).
 */
const TRY_AGAIN = "Try again later";

/**
 * The failure of an upstream that does not keep to its protocol.
 *
 * @param fault What it did, as a sentence without its full stop.
 */
export function brokenAnswer(fault: string): Failure {
  return { kind: "broken", message: `${fault}. ${TRY_AGAIN}` };
}

/** The failure of an answer that passes one of the gateway's bounds. */
export function oversizedAnswer(message: string): Failure {
  return { kind: "oversized", message, code: "upstream_oversized" };
}

/** All that a caller is told of a refusal of the gateway's own credential. */
export const REFUSED_CREDENTIAL =
  "The model's provider does not accept the gateway's credential: tell the administrator";

/** All that a caller is told of a refusal that does not say what it is about. */
const REFUSED_WITHOUT_REASON =
  "The model's provider refuses to serve this and does not say why: try another request, or tell the administrator";

/** What callers see of failures whose text is not for them: it may tell of the gateway's key or account. */
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

/** Whether the upstream's own words stay hidden from callers. */
export function isHidden({ kind }: Failure): boolean {
  return SHOWN_BY_KIND[kind] !== undefined;
}

/**
 * A failure as a caller may see it: a refusal of the gateway's own credential is not the caller's matter and
 * its text stays hidden (docs/design.md#errors), and what some providers put for a code is a sentence.
 */
export function shownFailure(failure: Failure): Failure {
  const shown = SHOWN_BY_KIND[failure.kind];
  if (shown !== undefined) return shown;
  const { code } = failure;
  return code === undefined || CODE_REGEXP.test(code)
    ? failure
    : { ...failure, code: undefined };
}

/**
 * A failure that is told inside a stream, where no status shows whether to try again: clients go by words such as
 * `server_error`, which the upstream may say with its code or type alone, and the caller's protocol spells otherwise.
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

/** What says that the trouble is the server's, or passes by itself. */
const PASSING_REGEXP =
  /server[_ ]error|internal[_ ](?:server[_ ])?error|overloaded|unavailable|rate[_ ]limit|try again/i;

const CODE_REGEXP = /^[\w.:-]{1,64}$/;

/** What a bare HTTP status says; for error bodies that say no more. */
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
