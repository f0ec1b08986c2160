import type { HeaderFields } from "@gateway/base/header_fields";
import type { ByteReader, ByteSource } from "@gateway/base/streams/byte_reader";
import type { LongBytes } from "@gateway/base/streams/bytes";

/** A request that a client sends. */
export interface HttpRequest {
  readonly url: string;
  /** Default: `POST`. */
  readonly method?: "GET" | "POST" | "PUT";
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array<ArrayBuffer> | LongBytes | undefined;
  /** Called once when the body is not read any more. */
  readonly onUploaded?: (() => void) | undefined;
  /** The longest time until there is a connection, in milliseconds; 0 means no limit. */
  readonly connectMs: number;
  /** True when no connection that has served another request may carry it. */
  readonly overNewConnection?: boolean | undefined;
  /** Ends the exchange when it aborts, the body of the response included. */
  readonly signal: AbortSignal;
}

/** A response that a client received, its head read. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  /** `null` where the response has no body. */
  readonly body: ByteSource | null;
}

/** Sends requests. Never sends one twice, and follows no redirects. */
export interface HttpClient {
  /**
   * Sends a request and waits for the head of its response.
   *
   * @throws {Http1Failure} When the client is that of `createHttp1Client` and the exchange fails.
   * @throws The error of any other client; the signal's reason when it aborts.
   */
  send(request: HttpRequest): Promise<HttpResponse>;
}

/** A request, as a server passes it to its handler. Every web-standard `Request` is one. */
export interface IncomingRequest
  extends Pick<Request, "method" | "url" | "body" | "bytes" | "signal"> {
  readonly headers: HeaderFields;
  /**
   * Reads the body without a platform's stream, once and in place of `body`. The next read may overwrite a chunk, unless
   * it is the last one.
   */
  readonly openBody?: (() => ByteReader) | undefined;
  /** Takes a body that has arrived with its head, in place of `bytes`; returns `undefined` where some has not. */
  readonly takeArrived?:
    | (() => Uint8Array<ArrayBuffer> | undefined)
    | undefined;
  /** The IP address at the other end of the socket, where the server knows it. */
  readonly peer?: string | undefined;
  /** The reason why a server cannot read the request; it continues "Cannot read the request: ". */
  readonly fault?: string | undefined;
}
