import type { HeaderFields } from "./header_fields.ts";

/**
 * Matches a name or an address, with or without a port. The parser of URLs is less strict: it also accepts quotes,
 * brackets and the like in a host.
 */
const HOST_REGEXP = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/**
 * Returns the address at which the caller reaches the gateway, without a path: `https://models.example:8443`. The
 * scheme and the host come from the proxy that is nearest to the caller, else from the request itself. Use the address
 * only in a response to the same caller, because a request can contain any host.
 *
 * @returns `undefined` unless the scheme is `http` or `https` and the host is a name or an IP address.
 */
export function publicAddress(
  { url, headers }: { readonly url: string; readonly headers: HeaderFields },
): string | undefined {
  const used = URL.parse(url);
  const scheme = firstOf(headers.get("x-forwarded-proto")) ??
    used?.protocol.slice(0, -1);
  const host = firstOf(headers.get("x-forwarded-host")) ??
    headers.get("host")?.toLowerCase() ?? used?.host;
  if (scheme !== "http" && scheme !== "https") return undefined;
  if (host === undefined || !HOST_REGEXP.test(host)) return undefined;
  return URL.parse(`${scheme}://${host}`)?.origin;
}

/** Returns the first value of a header's list, in lower case. The proxy nearest to the caller has set this value. */
function firstOf(list: string | null | undefined): string | undefined {
  return list?.split(",")[0]?.trim().toLowerCase();
}
