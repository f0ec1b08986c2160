import type { AuthScheme } from "./services.ts";

const NAME_REGEXP = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE_REGEXP = /^[\x20-\x7e\t]*$/;
const CREDENTIAL_REGEXP = /^[\x21-\x7e]{1,16384}$/;

/** Of one hop only (RFC 9110, section 7.6.1), or made by the gateway for each request. */
const GATEWAY_HEADERS: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const HEADER_BY_SCHEME: Readonly<Record<AuthScheme, string | undefined>> = {
  bearer: "authorization",
  "x-api-key": "x-api-key",
  none: undefined,
};

/**
 * What is wrong with a header that a connection adds to every request, or `undefined`.
 *
 * @param name In lower case.
 */
export function headerNameFault(
  name: string,
  scheme: AuthScheme | undefined,
): string | undefined {
  if (!NAME_REGEXP.test(name)) return "is not a valid header name";
  if (GATEWAY_HEADERS.has(name)) {
    return "is a header that the gateway sets itself; remove it";
  }
  if (scheme !== undefined && HEADER_BY_SCHEME[scheme] === name) {
    return "would replace the credential of auth; remove it, or use `scheme: none`";
  }
  return undefined;
}

/** Whether a text may stand as the value of a header: printable ASCII, inner spaces and tabs. */
export function isHeaderValue(value: string): boolean {
  return VALUE_REGEXP.test(value) && value === value.trim();
}

/** Whether a text may be a credential in a header: printable ASCII without spaces, at most 16 KiB. */
export function isCredential(value: string): boolean {
  return CREDENTIAL_REGEXP.test(value);
}
