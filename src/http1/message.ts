import type { HeaderFields } from "@gateway/base/header_fields";
import type { ByteReader } from "@gateway/base/streams/byte_reader";

/** A caller's request, as a server passes it to the gateway. Every web-standard `Request` is one. */
export interface CallerRequest
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
