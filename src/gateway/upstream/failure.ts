import { Http1Failure } from "@gateway/http1";
import {
  type ErrorKind,
  GatewayError,
  type GatewayErrorOptions,
} from "@gateway/base/error";
import { type FailureKind, REMEDIES, UpstreamFailure } from "@gateway/codecs";
import { IdleError } from "@gateway/base/streams/watched_reader";

/** The failures that the gateway itself detects in a call without a response. */
export type CallFailureKind = Extract<
  FailureKind,
  | "unreachable"
  | "untrusted"
  | "silent"
  | "broken"
  | "misconfigured"
  | "oversized"
>;

/** The error of a failed upstream call. Only the gateway uses `failureKind`. Everything else is for the caller. */
export class UpstreamCallError extends GatewayError {
  readonly failureKind: CallFailureKind;

  constructor(
    failureKind: CallFailureKind,
    message: string,
    options: GatewayErrorOptions,
  ) {
    super(ERROR_KIND[failureKind], message, {
      ...options,
      isFinal: REMEDIES[failureKind] !== "wait",
    });
    this.failureKind = failureKind;
  }
}

/** The kind of error that callers receive for each kind of failure. */
const ERROR_KIND = {
  unreachable: "upstream",
  untrusted: "upstream",
  broken: "upstream",
  silent: "timeout",
  misconfigured: "upstream",
  oversized: "upstream",
} as const satisfies Record<CallFailureKind, ErrorKind>;

const UNTRUSTED_REASON = "its TLS certificate is not valid";

/** The reasons for failures of a connection, by the text of the platform's error. The first match wins. */
const REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/certificate|UnknownIssuer|NotValidForName|expired/i, UNTRUSTED_REASON],
  [/dns|lookup|resolve|name or service|nodename/i, "its host name is unknown"],
  [/refused/i, "it refused the connection"],
  [
    /tls|ssl|handshake|corrupt message|fatal alert/i,
    "the TLS handshake failed",
  ],
  [/invalid HTTP|message head/i, "its response is not HTTP"],
  [/timed out|timeout/i, "the connection timed out"],
  [/unreachable|no route/i, "its network is unreachable"],
  [/reading a body|end of file/i, "its answer broke off"],
  [
    /reset|closed|eof|broken pipe|incomplete|IncompleteMessage/i,
    "it closed the connection",
  ],
];

/** The reasons that are only possible after a connection was opened. */
const CONNECTED_REASONS: ReadonlySet<string> = new Set([
  "its response is not HTTP",
  "its answer broke off",
  "it closed the connection",
]);

/** Returns the reason in a platform's error, without the address that the error contains. */
export function reasonOf(cause: unknown): string {
  if (cause instanceof Http1Failure) {
    if (cause.kind !== "connect") return cause.message;
    if (cause.proxyReason !== undefined) return cause.proxyReason;
  }
  const text = describe(cause);
  const found = REASONS.find(([pattern]) => pattern.test(text));
  return found?.[1] ?? "the connection failed";
}

/**
 * Returns true when the connection was open before it failed: it closed, or carried something other than HTTP. Deno
 * names the stage in its message: `client error (Connect)` or `client error (SendRequest)`.
 */
export function hadSocket(cause: unknown): boolean {
  if (cause instanceof Http1Failure) return cause.kind !== "connect";
  const text = describe(cause);
  if (/\(Connect\)/.test(text)) return false;
  return CONNECTED_REASONS.has(reasonOf(cause));
}

/** The resources that the gateway's own machine may lack, by the platform's code or text. */
const SHORTAGES: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/EMFILE|ENFILE|too many open files/i, "file descriptors"],
  [/ENOBUFS|ENOMEM|no buffer space|cannot allocate memory/i, "memory"],
  [
    /EADDRNOTAVAIL|assign requested address|address is not valid in its/i,
    "local ports",
  ],
];

/** If a shortage on the gateway's own machine prevented a connection, returns the scarce resource; else `undefined`. */
export function shortageOf(cause: unknown): string | undefined {
  if (cause instanceof Http1Failure && cause.kind !== "connect") {
    return undefined;
  }
  const text = describe(cause);
  return SHORTAGES.find(([pattern]) => pattern.test(text))?.[1];
}

/** The error for a caller when a shortage of the gateway's own machine prevented a connection. Nothing was sent. */
export class GatewayShortage extends GatewayError {
  constructor(what: string, cause: unknown) {
    super(
      "overloaded",
      `Cannot reach the model's provider: the gateway's machine is short of ${what}. Try again in a moment, or report it to the administrator.`,
      { code: "gateway_shortage", headers: { "retry-after": "1" }, cause },
    );
  }
}

/** Returns the error for a request without a response. Either this machine had a shortage, or the upstream failed. */
export function unanswered(cause: unknown): GatewayError {
  const shortage = shortageOf(cause);
  return shortage === undefined
    ? unreachable(cause)
    : new GatewayShortage(shortage, cause);
}

/** Returns the error for a caller whose upstream did not answer. The error names no host (docs/design.md#errors). */
function unreachable(cause: unknown): UpstreamCallError {
  if (cause instanceof Http1Failure && cause.kind === "malformed") {
    return brokenUpstream(cause.message, cause);
  }
  const reason = reasonOf(cause);
  if (reason === UNTRUSTED_REASON) return untrusted(cause);
  return new UpstreamCallError(
    "unreachable",
    `Cannot reach the model's provider: ${reason}. Try again, or report it to the administrator.`,
    { code: "upstream_unreachable", cause },
  );
}

/** Returns the error for a caller whose upstream has an invalid certificate. */
export function untrusted(cause?: unknown): UpstreamCallError {
  return new UpstreamCallError(
    "untrusted",
    `Cannot reach the model's provider: ${UNTRUSTED_REASON}. Report it to the administrator.`,
    { code: "upstream_unreachable", cause },
  );
}

/** Returns the error for a caller whose upstream sent a response that cannot be forwarded. */
export function brokenUpstream(
  reason: string,
  cause?: unknown,
): UpstreamCallError {
  return new UpstreamCallError(
    "broken",
    `Cannot use the answer of the model's provider: ${reason}. Try again, or report it to the administrator.`,
    { code: "upstream_broken", cause },
  );
}

/**
 * Returns the error to throw for a failed upstream call. After an abort, it is the signal's reason.
 *
 * @param errorOf Makes the error if there was no abort; default: the error of a response that broke off.
 */
export function callErrorOf(
  cause: unknown,
  signal: AbortSignal,
  errorOf: (cause: unknown) => Error = brokenOff,
): unknown {
  return signal.aborted ? signal.reason : errorOf(cause);
}

function brokenOff(cause: unknown): UpstreamCallError {
  return brokenUpstream(reasonOf(cause), cause);
}

/** Returns the error for a caller whose upstream sent more than the gateway can hold for a translation. */
export function oversized(): UpstreamCallError {
  return new UpstreamCallError(
    "oversized",
    "Cannot use the answer of the model's provider: it is too long. Ask for a shorter one, or report it to the administrator.",
    { code: "upstream_oversized" },
  );
}

/** Returns the error for a caller whose upstream sent a redirect. Redirects are never followed. */
export function redirected(): UpstreamCallError {
  return new UpstreamCallError(
    "misconfigured",
    "Cannot use the answer of the model's provider: it redirects to another address. Report it to the administrator.",
    { code: "upstream_redirect" },
  );
}

/** Returns the error for a caller whose upstream sent no response headers in time. */
export function silentUpstream(cause?: unknown): UpstreamCallError {
  return new UpstreamCallError(
    "silent",
    "Cannot get a response from the model's provider: none came in time. Try again later.",
    { code: "upstream_timeout", cause },
  );
}

/**
 * Returns the error for a response that broke off before any of it reached the caller. After an abort, returns the
 * signal's reason. Otherwise, if `cause` is an error for callers, returns `cause`. Returns a new error about any other
 * `cause`.
 */
export function failedReading(cause: unknown, signal: AbortSignal): unknown {
  return callErrorOf(cause, signal, readingErrorOf);
}

function readingErrorOf(cause: unknown): Error {
  if (cause instanceof IdleError) return silentUpstream();
  const isKnown = cause instanceof UpstreamFailure ||
    cause instanceof GatewayError;
  return isKnown ? cause : brokenOff(cause);
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? "" : ` ${describe(cause.cause)}`;
  return withoutAddress(cause.message) + inner;
}

/** Removes the address from Deno's message, because a host name could look like a reason. */
function withoutAddress(message: string): string {
  return message.replace(/https?:[^\s)]*/g, "");
}
