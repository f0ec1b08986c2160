/** How far a request and its response came before the connection failed. */
export interface Progress {
  /** How much of the request was handed to the network: its head counts. */
  readonly sent: "nothing" | "part" | "all";
  /** True when any byte of a response arrived. */
  readonly hasAnswer: boolean;
  /** True when the connection had served another request before. */
  readonly isReused: boolean;
}

/** The kinds of {@linkcode Http1Failure}. */
export type Http1FailureKind =
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

  constructor(
    kind: Http1FailureKind,
    message: string,
    { progress, cause }: { readonly progress: Progress; cause?: unknown },
  ) {
    super(message, { cause });
    this.kind = kind;
    this.progress = progress;
  }
}

/** A message that breaks the rules of HTTP/1.1 (RFC 9112). The connection cannot be used any further. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}
