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
  /** Called once when the client has stopped reading the body. */
  readonly onUploaded?: (() => void) | undefined;
  /** The longest time to get a connection, in milliseconds; 0 means no limit. */
  readonly connectMs: number;
  /** True when the request needs a new connection. */
  readonly overNewConnection?: boolean | undefined;
  /** Ends the exchange when the signal aborts, even while the body of the response arrives. */
  readonly signal: AbortSignal;
}

/** A response whose head the client has read. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  /** `null` when the response has no body. */
  readonly body: ByteSource | null;
}

/** Sends requests. Never sends a request twice, and follows no redirects. */
export interface HttpClient {
  /**
   * Sends a request and waits for the head of its response.
   *
   * @throws {Http1Failure} When the exchange fails, if the client is from `createHttp1Client`.
   * @throws The error of any other client; the signal's reason when the signal aborts.
   */
  send(request: HttpRequest): Promise<HttpResponse>;
}

/** A request, as a server passes it to its handler. Every web-standard `Request` is such a request. */
export interface IncomingRequest
  extends Pick<Request, "method" | "url" | "body" | "bytes" | "signal"> {
  readonly headers: HeaderFields;
  /**
   * Reads the body without a stream of the platform. Use either `openBody` or `body`, once. The next read may overwrite
   * a chunk, unless the chunk is the last one.
   */
  readonly openBody?: (() => ByteReader) | undefined;
  /**
   * Takes a body that has arrived completely with its head, instead of `openBody`. Returns `undefined` for any other
   * body.
   */
  readonly takeArrived?:
    | (() => Uint8Array<ArrayBuffer> | undefined)
    | undefined;
  /** The IP address at the other end of the socket, if the server knows it. */
  readonly peer?: string | undefined;
  /** The reason why a server cannot read the request; the reason continues "Cannot read the request: ". */
  readonly fault?: string | undefined;
}
