import type { HeaderFields } from "../core/header_fields.ts";

/** What a request asks for. */
export interface RequestTarget {
  /** As the caller wrote it: nothing decoded, no `..` followed. */
  readonly path: string;
  /** From its question mark on; empty where there is none. */
  readonly query: string;
}

/** What tells a request's target. */
export interface TargetSource {
  readonly url: string;
  readonly headers: HeaderFields;
}

/**
 * Takes a request's address apart. Never fails: the host is the caller's text and may be anything, even what
 * `URL` refuses.
 *
 * The platform makes the address of the `Host` header and the target, so a host in which a path or a query stands
 * must be known to be taken off; where it cannot be told from the target, as beside one in absolute form, the
 * request has no path.
 */
export function requestTarget({ url, headers }: TargetSource): RequestTarget {
  const host = headers.get("host") ?? "";
  const target = HOST_WITH_PATH_REGEXP.test(host)
    ? TARGET_REGEXP.exec(behindHost(url, host))
    : URL_REGEXP.exec(url);
  return { path: target?.[1] ?? "", query: target?.[2] ?? "" };
}

/** No host of RFC 9110, section 7.2, holds these. */
const HOST_WITH_PATH_REGEXP = /[/?#]/;

const TARGET_REGEXP = /^([^?#]*)(\?[^#]*)?/;

const URL_REGEXP = /^[a-z]+:\/\/[^/?#]*([^?#]*)(\?[^#]*)?/i;

function behindHost(url: string, host: string): string {
  const start = url.indexOf("://") + "://".length;
  return url.startsWith(host, start) ? url.slice(start + host.length) : "";
}
