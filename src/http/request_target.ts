/** What a request asks for. */
export interface RequestTarget {
  /** As the caller wrote it: nothing decoded, no `..` followed. */
  readonly path: string;
  /** From its question mark on; empty where there is none. */
  readonly query: string;
}

/**
 * Takes a request's address apart. Never fails: the host is the caller's text and may be anything, even what
 * `URL` refuses.
 */
export function requestTarget(url: string): RequestTarget {
  const [, path = "", query = ""] = TARGET_REGEXP.exec(url) ?? [];
  return { path, query };
}

const TARGET_REGEXP = /^[a-z]+:\/\/[^/?#]*([^?#]*)(\?[^#]*)?/i;
