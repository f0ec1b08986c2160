import { LongBytes } from "../../streams/bytes.ts";
import { type Fetch, MAX_STATUS } from "../../upstream/call.ts";
import type { Reach } from "../../upstream/connect_watch.ts";
import { failedToWrite, hadConnection } from "../../upstream/failure.ts";
import { ShortUpload, Upload } from "../../upstream/upload.ts";

/** The HTTP client for upstreams over the network. */
export interface NetworkClient extends Disposable {
  readonly fetch: Fetch;
}

/**
 * Opens the HTTP client for upstreams. It uses HTTP/1.1, with one request at a time on each connection. On a shared
 * HTTP/2 connection, one caller who stops reading could delay all other requests to the provider. A low limit on
 * streams or a silent loss of the connection would delay them, too. The client keeps more idle connections to a host
 * than the platform's default, because all of a company's traffic to a provider passes through it.
 *
 * A request that was sent whole is not sent again. Deno itself repeats one whose kept-alive connection ends without a
 * response (https://github.com/denoland/deno/pull/32566), but it cannot repeat a streamed body. A request that breaks
 * off within its body is sent once more, because the provider cannot have processed it; see `resend`.
 */
export function openNetworkClient(): NetworkClient {
  const http2 = false;
  const kept = Deno.createHttpClient({ http2, poolMaxIdlePerHost: 1024 });
  const fresh = Deno.createHttpClient({ http2, poolMaxIdlePerHost: 0 });
  async function send(
    url: string,
    init: RequestInit,
    upload: Upload,
  ): Promise<Response> {
    const answer = await fetch(url, { ...init, body: upload, client: kept });
    return upload.isTaken ? answer : endUploadWith(answer, upload);
  }

  /**
   * Repeats a request that broke off within its body, to receive its response. Most likely the provider responded early
   * and closed the connection. The platform's next write then fails, and the platform ignores the response. Without
   * TLS, the platform does read the response while it writes a body from memory, at the cost of two copies of the body.
   * With TLS, it needs time between the writes.
   */
  async function resend(
    url: string,
    init: RequestInit,
    upload: Upload,
  ): Promise<Response> {
    if (url.startsWith("https:")) {
      return await send(url, init, upload.again());
    }
    const body = upload.body.join();
    return await fetch(url, { ...init, body, client: fresh });
  }

  async function sendLong(
    url: string,
    init: RequestInit,
    upload: Upload,
  ): Promise<Response> {
    try {
      return await send(url, init, upload);
    } catch (cause) {
      const isCut = !upload.isTaken || failedToWrite(cause);
      if (!isCut || !hadConnection(cause) || init.signal?.aborted) throw cause;
      return await resend(url, init, upload);
    }
  }

  function sendShort(
    url: string,
    init: RequestInit,
    upload: ShortUpload,
  ): Promise<Response> {
    const answer = fetch(url, { ...init, body: upload, client: kept });
    return answer.catch((cause) => {
      const isCut = failedToWrite(cause) && hadConnection(cause);
      if (!isCut || init.signal?.aborted) throw cause;
      return resend(url, init, new Upload(new LongBytes([upload.body])));
    });
  }

  return {
    fetch(url, init) {
      const upload = uploadOf(init.body);
      if (upload instanceof ShortUpload) return sendShort(url, init, upload);
      return upload instanceof Upload
        ? sendLong(url, init, upload)
        : fetch(url, { ...init, body: upload, client: kept });
    },
    [Symbol.dispose]() {
      kept.close();
      fresh.close();
    },
  };
}

/**
 * Returns a response that came before the whole body was sent. When the response ends, the upload ends too: a provider
 * that stops reading could otherwise hold the connection and the body forever.
 */
function endUploadWith(answer: Response, upload: Upload): Response {
  const { body, status, headers } = answer;
  const end = () => upload.giveUp();
  if (body === null || status > MAX_STATUS) {
    end();
    return answer;
  }
  const watched = body.pipeThrough(
    new TransformStream({ flush: end, cancel: end }),
  );
  return new Response(watched, { status, headers });
}

/** The longest body that is handed to the platform as one chunk, in bytes. */
const SHORT_BYTES = 256 * 1024;

function uploadOf(body: RequestInit["body"]): BodyInit | null {
  const sent = typeof body === "string" ? new TextEncoder().encode(body) : body;
  if (!isBytes(sent)) return sent ?? null;
  return sent.length <= SHORT_BYTES
    ? new ShortUpload(sent)
    : new Upload(new LongBytes([sent]));
}

function isBytes(body: unknown): body is Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array;
}

const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] as const;

/**
 * Returns a function that tests a host of an upstream: it opens a connection, with the TLS handshake, and closes it.
 *
 * @returns `undefined` behind a proxy: the gateway connects only to the proxy, which reports its own failures.
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
