import { type HeaderFields, readHeaders } from "../core/header_fields.ts";
import type { Deadlines } from "../core/time/deadlines.ts";
import { discard } from "../streams/byte_reader.ts";
import { decompress, readContentEncoding } from "../streams/decompress.ts";
import type { ConnectWatch } from "./connect_watch.ts";
import {
  brokenUpstream,
  callErrorOf,
  silentUpstream,
  unconnected,
  unreachable,
} from "./failure.ts";

/** The web's `fetch` or a function of the same shape: the network, the demo provider or a test's script. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The error of a request whose caller has disconnected, so that no response is needed. */
export class CallerLeft extends Error {
  override readonly name = "CallerLeft";
}

/** One HTTP exchange with an upstream. */
export interface UpstreamCall {
  readonly url: string;
  readonly headers: [string, string][];
  readonly body: BodyInit;
  readonly deadlines: Deadlines;
  readonly connects: ConnectWatch;
  /** The timeout of the connection, in milliseconds; 0 means none. */
  readonly connectMs: number;
  /** The timeout of the response headers, in milliseconds; 0 means none. It does not bound the body. */
  readonly firstByteMs: number;
  /** Aborts the exchange, including its body. The call then throws the reason of the abort. */
  readonly controller: AbortController;
}

/** The lowest status of a final response (RFC 9110, section 15.2). The gateway never asks for a 101. */
const MIN_STATUS = 200;

/** The highest status of a `Response`; some servers send higher ones. */
export const MAX_STATUS = 599;

/**
 * Sends a request and waits for the response headers. It follows no redirect, and it decodes a content encoding that
 * was not requested.
 *
 * @throws {GatewayError} `upstream` when no readable response comes or its status is not from 200 to 599; `timeout`
 * when it does not come in time.
 * @throws {CallerLeft} When the caller has disconnected meanwhile.
 */
export async function callUpstream(
  fetch: Fetch,
  call: UpstreamCall,
): Promise<UpstreamAnswer> {
  const { url, controller, connects, deadlines } = call;
  const sinceMs = deadlines.elapsedMs();
  // The shorter deadline starts first, so that the shared timer is set once for both.
  const stopWatching = connects.start({
    url,
    withinMs: call.connectMs,
    sinceMs,
    onUnreachable: () => controller.abort(unconnected()),
  });
  const cancel = deadlines.start(
    call.firstByteMs,
    () => controller.abort(silentUpstream()),
    sinceMs,
  );
  let answer: Response;
  try {
    answer = await fetch(url, {
      method: "POST",
      headers: call.headers,
      body: call.body,
      redirect: "manual",
      signal: controller.signal,
    });
    connects.noteReached(url);
  } catch (cause) {
    throw callErrorOf(cause, controller.signal, unreachable);
  } finally {
    cancel();
    stopWatching();
  }
  const { status } = answer;
  if (status >= MIN_STATUS && status <= MAX_STATUS) {
    return undoEncoding(withReadHeaders(answer));
  }
  discard(answer);
  throw brokenUpstream(`it has the status ${status}`);
}

/**
 * Decodes the content encoding of an upstream's response. Some providers compress although asked not to, and the
 * caller's client may not know their encoding. Where `fetch` has already decoded it, as Deno 2.7 does unasked, the
 * header is absent, too.
 *
 * @throws {GatewayError} `upstream` when the encoding is unknown, or while reading, when the body does not match it.
 */
function undoEncoding(answer: UpstreamAnswer): UpstreamAnswer {
  const { body, headers } = answer;
  const encoding = readContentEncoding(headers.get("content-encoding"));
  if (body === null || encoding === "identity") return answer;
  if (encoding === undefined) {
    discard(answer);
    throw brokenUpstream(UNREADABLE);
  }
  const mismatch = (cause: unknown) => brokenUpstream(UNREADABLE, cause);
  return {
    ...answer,
    body: decompress(body, encoding, { mismatch }),
    headers: withoutEncoding(headers),
  };
}

function withoutEncoding(headers: HeaderFields): HeaderFields {
  const left = new Map<string, string>();
  headers.forEach((value, name) => left.set(name, value));
  left.delete("content-encoding");
  left.delete("content-length");
  return left;
}

const UNREADABLE =
  "it is compressed in an encoding that the gateway cannot decode";

/** The parts of an upstream's response that the gateway reads; a `Response` has all of them. */
export interface UpstreamAnswer {
  readonly status: number;
  /** True when the status is from 200 to 299. */
  readonly ok: boolean;
  readonly headers: HeaderFields;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Returns a response whose headers have been read once for all look-ups. */
function withReadHeaders(answer: Response): UpstreamAnswer {
  const { status, ok, body } = answer;
  return { status, ok, headers: readHeaders(answer.headers), body };
}
