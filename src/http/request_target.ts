/** What a request asks for. */
export interface RequestTarget {
  /** As the caller wrote it: nothing decoded, no `..` followed. */
  readonly path: string;
  /** From its question mark on; empty where there is none. */
  readonly query: string;
}

/** What tells a request's target. */
export type TargetSource = Pick<Request, "url" | "headers">;

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
  const behind = HOST_WITH_PATH_REGEXP.test(host)
    ? behindHost(url, host)
    : behindAuthority(url);
  const [, path = "", query = ""] = TARGET_REGEXP.exec(behind) ?? [];
  return { path, query };
}

/** No host of RFC 9110, section 7.2, holds these. */
const HOST_WITH_PATH_REGEXP = /[/?#]/;

const AUTHORITY_REGEXP = /^[a-z]+:\/\/[^/?#]*/i;

const TARGET_REGEXP = /^([^?#]*)(\?[^#]*)?/;

function behindAuthority(url: string): string {
  const [origin] = AUTHORITY_REGEXP.exec(url) ?? [url];
  return url.slice(origin.length);
}

function behindHost(url: string, host: string): string {
  const start = url.indexOf("://") + "://".length;
  return url.startsWith(host, start) ? url.slice(start + host.length) : "";
}
