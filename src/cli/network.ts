import type { Fetch } from "../upstream/call.ts";
import type { Reach } from "../upstream/connect_watch.ts";

/**
 * The network's `fetch` for upstreams. It speaks HTTP/1.1, one request at a time on each connection: over one
 * connection of HTTP/2, callers who stop reading, a low cap on its streams or its silent loss would hold up all
 * others of the same provider. And it keeps more connections alive to one host than the platform's default keeps,
 * since all of a company's traffic to a provider runs through here.
 */
export function networkFetch(): Fetch {
  const client = Deno.createHttpClient({
    http2: false,
    poolMaxIdlePerHost: 1024,
  });
  return (url, init) => fetch(url, { ...init, body: once(init.body), client });
}

/**
 * A body that is sent once. Deno sends a request again by itself when a kept-alive connection ends without an answer
 * (https://github.com/denoland/deno/pull/32566), though the provider may have begun to work on it: whether that is done
 * is for the retry rules to say, and for the log to tell. It cannot repeat what it streams, as it does a `Blob`, whose
 * length it tells all the same.
 */
function once(body: RequestInit["body"]): BodyInit | null {
  const isRepeatable = typeof body === "string" || isBytes(body);
  return isRepeatable ? new Blob([body]) : body ?? null;
}

function isBytes(body: unknown): body is Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array;
}

const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] as const;

/**
 * Opens connections to the hosts of upstreams, TLS handshake included, and closes them.
 *
 * @returns `undefined` behind a proxy: only that one has to be reached, and it says itself when it cannot.
 */
export function networkReach(
  env: (name: string) => string | undefined,
): Reach | undefined {
  const isProxied = PROXY_VARIABLES.some((name) =>
    (env(name) ?? env(name.toLowerCase()) ?? "") !== ""
  );
  return isProxied ? undefined : reach;
}

async function reach(url: string, signal: AbortSignal): Promise<void> {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "https:";
  const host = hostname.replace(/^\[|\]$/g, "");
  const connection = await Deno.connect({
    hostname: host,
    port: port === "" ? (isSecure ? 443 : 80) : Number(port),
    signal,
  });
  if (!isSecure) return connection.close();
  const secure = await Deno.startTls(connection, { hostname: host });
  const stop = () => secure.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await secure.handshake();
  } finally {
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) secure.close();
  }
}
