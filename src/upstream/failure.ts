import {
  type ErrorKind,
  GatewayError,
  type GatewayErrorOptions,
} from "../core/error.ts";
import {
  type FailureKind,
  mayPass,
  UpstreamFailure,
} from "../protocols/canonical/failure/failure.ts";
import { IdleError } from "../streams/watched_reader.ts";
import { Http1Failure } from "./http1/failure.ts";

/** What the gateway itself sees of a call that gave no answer. */
export type CallFailureKind = Extract<
  FailureKind,
  | "unreachable"
  | "untrusted"
  | "silent"
  | "broken"
  | "misconfigured"
  | "oversized"
>;

/** A call of an upstream failed; the kind is for the gateway, all else is what the caller is told. */
export class UpstreamCallError extends GatewayError {
  readonly failureKind: CallFailureKind;

  constructor(
    failureKind: CallFailureKind,
    message: string,
    options: GatewayErrorOptions,
  ) {
    super(ERROR_KIND[failureKind], message, {
      ...options,
      isFinal: !mayPass(failureKind),
    });
    this.failureKind = failureKind;
  }
}

/** What callers see of each. */
const ERROR_KIND = {
  unreachable: "upstream",
  untrusted: "upstream",
  broken: "upstream",
  silent: "timeout",
  misconfigured: "upstream",
  oversized: "upstream",
} as const satisfies Record<CallFailureKind, ErrorKind>;

const UNTRUSTED_REASON = "its TLS certificate is not valid";

/** Why an upstream could not be reached, by what the platform says of it. The first match wins. */
const REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  // The messages of `cli/server/dial.ts`.
  [/proxy refused .* 407/, "the proxy did not accept the credentials"],
  [/proxy refused/, "the proxy did not connect to it"],
  [/proxy closed/, "the proxy closed the connection"],
  [/proxy does not speak/, "the proxy does not speak HTTP"],
  [/certificate|UnknownIssuer|NotValidForName|expired/i, UNTRUSTED_REASON],
  [/dns|lookup|resolve|name or service|nodename/i, "its host name is unknown"],
  [/refused/i, "it refused the connection"],
  [/tls|ssl|handshake|corrupt message|fatal alert/i, "the TLS handshake failed"],
  [/invalid HTTP|message head/i, "what it sends is no HTTP"],
  [/timed out|timeout/i, "the connection timed out"],
  [/unreachable|no route/i, "its network is unreachable"],
  [/reading a body|end of file/i, "its answer broke off"],
  [
    /reset|closed|eof|broken pipe|incomplete|IncompleteMessage/i,
    "it closed the connection",
  ],
];

/** Of those, the ones that can only be told of a connection that was made. */
const CONNECTED_REASONS: ReadonlySet<string> = new Set([
  "what it sends is no HTTP",
  "its answer broke off",
  "it closed the connection",
]);

/** What the platform's error says, without the address that it holds. */
export function reasonOf(cause: unknown): string {
  if (cause instanceof Http1Failure && cause.kind !== "connect") {
    return cause.message;
  }
  const text = describe(cause);
  const found = REASONS.find(([pattern]) => pattern.test(text));
  return found?.[1] ?? "the connection failed";
}

/**
 * Whether there had been a connection when the platform gave up: it was closed, or something else than HTTP
 * came. Deno names the stage in its message, `client error (Connect)` or `client error (SendRequest)`.
 */
export function hadConnection(cause: unknown): boolean {
  if (cause instanceof Http1Failure) return cause.kind !== "connect";
  const text = describe(cause);
  if (/\(Connect\)/.test(text)) return false;
  return CONNECTED_REASONS.has(reasonOf(cause));
}

/** Returns the error for a caller whose upstream gave no answer; names no host (docs/design.md#errors). */
export function unreachable(cause: unknown): UpstreamCallError {
  if (cause instanceof Http1Failure && cause.kind === "malformed") {
    return brokenUpstream(cause.message, cause);
  }
  const reason = reasonOf(cause);
  if (reason === UNTRUSTED_REASON) return untrusted(cause);
  return new UpstreamCallError(
    "unreachable",
    `Cannot reach the model's provider: ${reason}. Try again, or tell the administrator`,
    { code: "upstream_unreachable", cause },
  );
}

/** Returns the error for a caller whose upstream shows a certificate that is not valid. */
export function untrusted(cause?: unknown): UpstreamCallError {
  return new UpstreamCallError(
    "untrusted",
    `Cannot reach the model's provider: ${UNTRUSTED_REASON}. Tell the administrator`,
    { code: "upstream_unreachable", cause },
  );
}

/** The error for a caller whose upstream answered in a way that cannot be passed on. */
export function brokenUpstream(
  reason: string,
  cause?: unknown,
): UpstreamCallError {
  return new UpstreamCallError(
    "broken",
    `Cannot use the answer of the model's provider: ${reason}. Try again, or tell the administrator`,
    { code: "upstream_broken", cause },
  );
}

/**
 * What is to be thrown where a call of an upstream broke: why its exchange was ended, where that is what broke it.
 *
 * @param otherwise Makes the error of any other cause; default: that of an answer that broke off.
 */
export function callErrorOf(
  cause: unknown,
  signal: AbortSignal,
  otherwise: (cause: unknown) => Error = brokenOff,
): unknown {
  return signal.aborted ? signal.reason : otherwise(cause);
}

function brokenOff(cause: unknown): UpstreamCallError {
  return brokenUpstream(reasonOf(cause), cause);
}

/** The error for a caller whose upstream answered more than the gateway can hold to translate it. */
export function oversized(): UpstreamCallError {
  return new UpstreamCallError(
    "oversized",
    "Cannot use the answer of the model's provider: it is too long. Ask for a shorter one, or tell the administrator",
    { code: "upstream_oversized" },
  );
}

/** The error for a caller whose upstream answered with a redirect, which is never followed. */
export function redirected(): UpstreamCallError {
  return new UpstreamCallError(
    "misconfigured",
    "Cannot use the answer of the model's provider: it redirects to another place. Tell the administrator",
    { code: "upstream_redirect" },
  );
}

/** The error for a caller whose upstream gave no response headers in time. */
export function silentUpstream(): UpstreamCallError {
  return new UpstreamCallError(
    "silent",
    "The model's provider did not answer in time: try again later",
    { code: "upstream_timeout" },
  );
}

/**
 * What it means for a caller that the reading of an answer was broken off by `cause`, where nothing of the answer has
 * gone out: why it was cut, where somebody cut it; else what `cause` says itself, when it is an error for callers.
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

/** Deno's message holds the address, whose host could look like a reason. */
function withoutAddress(message: string): string {
  return message.replace(/https?:[^\s)]*/g, "");
}
