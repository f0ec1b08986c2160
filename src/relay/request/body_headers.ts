import { GatewayError } from "../../core/error.ts";
import type { HeaderFields } from "../../core/header_fields.ts";

/**
 * Refuses a request that two servers may read in two ways (RFC 9112, sections 3.2 and 6.1). Deno 2.9 refuses these
 * itself, Deno 2.7 serves them. The connection closes, since another server may see another end of this request.
 *
 * @throws {GatewayError} `invalid_request` for a body with a length and in chunks, and for two hosts.
 */
export function refuseAmbiguous(headers: HeaderFields): void {
  if (headers.has("content-length") && headers.has("transfer-encoding")) {
    throw ambiguous(
      "it has a content-length and a transfer-encoding, send one of them",
    );
  }
  // The platform joins the values of a repeated header so.
  if (headers.get("host")?.includes(", ")) {
    throw ambiguous("it has several host headers, send one");
  }
}

function ambiguous(why: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot read the request: ${why}`,
    { headers: CLOSE },
  );
}

const CLOSE = { connection: "close" };

/**
 * Refuses a caller's body that is nothing the gateway reads, before it is read.
 *
 * @throws {GatewayError} `unsupported_media_type` for another content type than JSON in UTF-8, `invalid_request` for a
 * transfer encoding other than chunks.
 */
export function checkBodyHeaders(headers: HeaderFields): void {
  checkContentType(headers.get("content-type"));
  checkTransferEncoding(headers.get("transfer-encoding"));
}

/** How long a caller's body is, in bytes, as far as its headers say. */
export function declaredBytes(headers: HeaderFields): number | undefined {
  const value = headers.get("content-length");
  return value && /^\d+$/.test(value) ? Number(value) : undefined;
}

/**
 * A missing type is taken as JSON; a wrong one is refused before it surprises somebody. JSON in another encoding
 * than UTF-8 (RFC 8259, section 8.1) could say other things to an upstream than were read here.
 */
function checkContentType(value: string | null | undefined): void {
  if (value === null || value === undefined) return;
  if (JSON_TYPE_REGEXP.test(value) && isUtf8(value)) return;
  throw new GatewayError(
    "unsupported_media_type",
    "Cannot read the body: its content type is not JSON in UTF-8, send content-type: application/json",
  );
}

const JSON_TYPE_REGEXP = /^\s*(application|text)\/([\w.+-]+\+)?json\s*(;|$)/i;

function isUtf8(contentType: string): boolean {
  return [...contentType.matchAll(CHARSET_REGEXP)]
    .every(([, charset = ""]) => UTF_8_REGEXP.test(charset.trim()));
}

/** Every parameter whose name begins so, with its value. */
const CHARSET_REGEXP = /charset([^;]*)/gi;

const UTF_8_REGEXP = /^=\s*(utf-?8|"utf-?8")$/i;

/**
 * The server undoes chunks and leaves every other coding in the body, where somebody before it may have undone
 * that, too (RFC 9112, section 6.1).
 */
function checkTransferEncoding(value: string | null | undefined): void {
  if ((value ?? "chunked").toLowerCase() === "chunked") return;
  throw new GatewayError(
    "invalid_request",
    "Cannot read the body: its transfer encoding is more than chunks, send transfer-encoding: chunked or a content-length",
    { headers: CLOSE },
  );
}
