import { GatewayError } from "../../core/error.ts";
import {
  decompress as inflate,
  readContentEncoding,
} from "../../streams/decompress.ts";

/**
 * Undoes the content encoding of a caller's body while it is read.
 *
 * @param encoding The `content-encoding` header; none, an empty one or `identity` leaves the body as it is.
 * @throws {GatewayError} `unsupported_media_type` for any other encoding; while reading,
 * `invalid_request` when the body does not keep to its encoding.
 */
export function decompress(
  body: ReadableStream<Uint8Array>,
  encoding: string | null | undefined,
): ReadableStream<Uint8Array> {
  const name = readContentEncoding(encoding);
  if (name === undefined) throw unsupportedEncoding();
  return name === "identity" ? body : inflate(body, name, { mismatch });
}

/** Whether the body arrives as the caller wrote it. */
export function isIdentity(encoding: string | null | undefined): boolean {
  return readContentEncoding(encoding) === "identity";
}

function mismatch(cause: unknown): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot decompress the body: it does not match its content-encoding header",
    { cause },
  );
}

function unsupportedEncoding(): GatewayError {
  return new GatewayError(
    "unsupported_media_type",
    "Cannot read the body: its content encoding is unknown, use identity, gzip, deflate, br or zstd",
    { headers: { "accept-encoding": "gzip, deflate, br, zstd" } },
  );
}
