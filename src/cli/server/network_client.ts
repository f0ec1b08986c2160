import { LongBytes } from "../../streams/bytes.ts";
import { type Fetch, MAX_STATUS } from "../../upstream/call.ts";
import type { Reach } from "../../upstream/connect_watch.ts";
import { failedToWrite, hadConnection } from "../../upstream/failure.ts";
import { ShortUpload, Upload } from "../../upstream/upload.ts";

/** The way to upstreams over the network. */
export interface NetworkClient extends Disposable {
  readonly fetch: Fetch;
}

/**
 * Opens the network's client for upstreams. It speaks HTTP/1.1, one request at a time on each connection: over one
 * connection of HTTP/2, callers who stop reading, a low cap on its streams or its silent loss would hold up all
 * others of the same provider. And it keeps more connections alive to one host than the platform's default keeps,
 * since all of a company's traffic to a provider runs through here.
 *
 * No request that was sent is sent again: Deno does so by itself when a kept-alive connection ends without an answer
 * (https://github.com/denoland/deno/pull/32566), but cannot repeat a body that it streams. One that breaks off within
 * its body, so that the provider cannot have worked on it, is sent once more; see `resend`.
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
   * Asks again for the answer to a request that broke off within its body. Most likely there is one: who answers early
   * and closes the connection makes the platform's next write fail, and then it does not look for what has come. Without
   * TLS it does look while it writes from memory, at the price of two copies of the body; with TLS it needs time between
   * the writes.
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
 * An answer that came before the body was through, after whose end no more of the body is sent: a provider that reads
 * no further would hold the connection and the body for as long as it likes.
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

/** No longer than this, a body goes to the platform in one piece, in bytes. */
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
