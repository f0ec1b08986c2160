/** The target of a request. */
interface RequestTarget {
  /** The raw path: nothing is decoded, and `..` is not resolved. */
  readonly path: string;
  /** Starts with the question mark. Empty when there is no query. */
  readonly query: string;
}

/** The parts of a request that hold its target. */
export interface TargetSource {
  readonly url: string;
}

/**
 * Parses the target of a request. Never throws. The server must have checked the host in the address, because the
 * caller chooses the host's text, and the text may hold a path.
 */
export function requestTarget({ url }: TargetSource): RequestTarget {
  const target = URL_REGEXP.exec(url);
  return { path: target?.[1] ?? "", query: target?.[2] ?? "" };
}

const URL_REGEXP = /^[a-z]+:\/\/[^/?#]*([^?#]*)(\?[^#]*)?/i;
