/** The progress of a request and its response before the connection failed. */
export interface Progress {
  /** How much of the request, head included, was passed to the network. */
  readonly sent: "nothing" | "part" | "all";
  /** True when any byte of a response arrived. */
  readonly hasAnswer: boolean;
  /** True when the connection had served another request before. */
  readonly isReused: boolean;
}

/** The kinds of {@linkcode Http1Failure}. */
type Http1FailureKind =
  /** No connection could be opened. */
  | "connect"
  /** The connection ended before the response was complete. */
  | "closed"
  /** The provider sent something that is not valid HTTP/1.1. */
  | "malformed";

/** An HTTP exchange that failed. Its message says what was wrong and holds no address and no content. */
export class Http1Failure extends Error {
  override readonly name = "Http1Failure";
  readonly kind: Http1FailureKind;
  readonly progress: Progress;
  /** The time from sending the request until the connection ended without a byte of a response, in milliseconds. */
  silentMs: number | undefined;

  constructor(
    kind: Http1FailureKind,
    message: string,
    { progress, cause }: { readonly progress: Progress; cause?: unknown },
  ) {
    super(message, { cause });
    this.kind = kind;
    this.progress = progress;
  }

  /**
   * True when a reused connection ended, or was given up, before any byte of a response. A firewall may have dropped
   * the connection, or the server may have closed it. A retry on a new connection may succeed.
   */
  get wasLost(): boolean {
    const { isReused, hasAnswer } = this.progress;
    return this.kind === "closed" && isReused && !hasAnswer;
  }

  /** The reason why a proxy did not connect; `undefined` for any other failure. */
  get proxyReason(): string | undefined {
    return this.cause instanceof ProxyFailure ? this.cause.message : undefined;
  }
}

/** A message that breaks the rules of HTTP/1.1 (RFC 9112). The connection cannot be used any further. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** The error when a proxy does not connect. Its message is the reason for the caller, without an address. */
export class ProxyFailure extends Error {
  override readonly name = "ProxyFailure";
}
