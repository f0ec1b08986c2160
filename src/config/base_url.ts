import { type Endpoint, OPERATIONS } from "../core/protocol.ts";

/** A base URL in its normal form, or what is wrong with the text. */
export type BaseUrlResult = {
  readonly url: string;
  /** Whether a key sent there could be read on the way. */
  readonly exposed: boolean;
} | { readonly fault: string };

const LOOPBACK_REGEXP = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Reads a base URL to which an endpoint's paths are appended: http or https, no credentials, no query,
 * no fragment; a trailing slash goes.
 */
export function readBaseUrl(text: string, endpoint: Endpoint): BaseUrlResult {
  const result = readHttpUrl(text);
  if ("fault" in result) return result;
  if (/[?#]/.test(text)) {
    return { fault: "must be a base URL: no query and no fragment" };
  }
  const url = result.url.replace(/\/+$/, "");
  const operation = Object.values(OPERATIONS).find((shape) =>
    shape.endpoint === endpoint && url.endsWith(shape.path)
  );
  if (operation !== undefined) {
    return {
      fault:
        `must be a base URL: leave out ${operation.path}, the gateway appends it`,
    };
  }
  return { url, exposed: result.exposed };
}

/** Reads an absolute http or https URL without credentials. */
export function readHttpUrl(text: string): BaseUrlResult {
  const url = URL.canParse(text) && !/[\s\p{Cc}]/u.test(text)
    ? new URL(text)
    : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    return { fault: "must be a URL such as https://api.example.com/v1" };
  }
  if (url.username !== "" || url.password !== "") {
    return { fault: "must not hold credentials; they belong in auth" };
  }
  const exposed = url.protocol === "http:" &&
    !LOOPBACK_REGEXP.test(url.hostname);
  return { url: url.href, exposed };
}
