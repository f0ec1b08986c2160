import type { Connection } from "../config.ts";
import { type AuthScheme, SERVICES } from "@gateway/services";
import type { Located } from "@gateway/base/problems";
import type { ConnectionFields } from "../schema/connection.ts";
import { schemeOf } from "./auth.ts";

/** Resolves the headers that a connection adds, with names in lower case. Reports invalid headers. */
export function resolveHeaders(
  fields: ConnectionFields,
  { path, findings }: Located,
): Connection["headers"] {
  const headers = new Map<string, string>();
  const scheme = schemeOf(fields);
  for (const [writtenName, value] of Object.entries(fields.headers)) {
    const place = [...path, "headers", writtenName];
    const name = writtenName.toLowerCase();
    const fault = headerNameFault(name, scheme);
    if (fault !== undefined) findings.problem(place, fault);
    if (headers.has(name)) {
      findings.problem(
        place,
        "appears twice. Upper and lower case are the same.",
      );
    }
    if (!isHeaderValue(value)) {
      findings.problem(
        place,
        "must be printable ASCII without line breaks or outer spaces.",
      );
    }
    headers.set(name, value);
  }
  for (const name of SERVICES[fields.service].requiredHeaders) {
    if (headers.has(name)) continue;
    const message = `is missing. \`service: ${fields.service}\` needs it.`;
    findings.problem([...path, "headers", name], message);
  }
  return Object.fromEntries(headers);
}

/** A value in a list. White space and commas separate values, so a value has neither. */
const LISTED_VALUE_REGEXP = /^[!-+\--~]+$/;

/** Resolves the values that a connection removes from request headers, with names in lower case. Reports problems. */
export function resolveHeadersDrop(
  fields: ConnectionFields,
  { path, findings }: Located,
): Connection["headersDrop"] {
  const scheme = schemeOf(fields);
  const set = new Set(
    Object.keys(fields.headers).map((name) => name.toLowerCase()),
  );
  const dropped = new Map<string, readonly string[]>();
  for (const [writtenName, values] of Object.entries(fields.headers_drop)) {
    const place = [...path, "headers_drop", writtenName];
    const name = writtenName.toLowerCase();
    const fault = headerNameFault(name, undefined) ??
      (scheme !== undefined && HEADER_BY_SCHEME[scheme] === name
        ? "holds the credential of auth. Remove it."
        : undefined) ??
      (set.has(name) ? "is also in headers. Remove one of them." : undefined) ??
      (dropped.has(name)
        ? "appears twice. Upper and lower case are the same."
        : undefined);
    if (fault !== undefined) findings.problem(place, fault);
    values.forEach((value, index) => {
      if (LISTED_VALUE_REGEXP.test(value)) return;
      const message =
        "must be one value of the header's list: printable ASCII without spaces or commas.";
      findings.problem([...place, index], message);
    });
    dropped.set(name, values);
  }
  return Object.fromEntries(dropped);
}

const NAME_REGEXP = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE_REGEXP = /^[\x20-\x7e\t]*$/;

/** Headers for a single connection (RFC 9110, section 7.6.1), and headers that the gateway sets on each request. */
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
  "api-key": "api-key",
  none: undefined,
};

/**
 * Returns the problem of a header that a connection adds to every request, or `undefined`.
 *
 * @param name In lower case.
 */
export function headerNameFault(
  name: string,
  scheme: AuthScheme | undefined,
): string | undefined {
  if (!NAME_REGEXP.test(name)) return "is not a valid header name.";
  if (GATEWAY_HEADERS.has(name)) {
    return "is a header that the gateway sets itself. Remove it.";
  }
  if (scheme !== undefined && HEADER_BY_SCHEME[scheme] === name) {
    return "would replace the credential of auth. Remove it, or use `scheme: none`.";
  }
  return undefined;
}

/** Returns true when a text can be a header's value: printable ASCII, with inner spaces and tabs. */
export function isHeaderValue(value: string): boolean {
  return VALUE_REGEXP.test(value) && value === value.trim();
}
