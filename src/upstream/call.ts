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

/** The web's `fetch`, or anything of its shape: the network, the demo provider or a test's script. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The caller went away; nobody is left to answer. */
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
  /** Until there is a connection, in milliseconds; 0 means forever. */
  readonly connectMs: number;
  /** Until the response headers, in milliseconds; 0 means forever. Does not bound the body. */
  readonly firstByteMs: number;
  /** Aborts the exchange, its body included; its reason tells why and is what is thrown then. */
  readonly controller: AbortController;
}

/** A lower status is no final answer (RFC 9110, section 15.2): nobody asked for a 101. */
const MIN_STATUS = 200;

/** Statuses above this exist on some servers, but no `Response` can be made with one. */
export const MAX_STATUS = 599;

/**
 * Sends a request and waits for the response headers. Redirects are not followed; a content encoding that
 * was not asked for is undone.
 *
 * @throws {GatewayError} `upstream` when there is no answer that can be read or its status is not from 200 to 599,
 * `timeout` when it does not come in time.
 * @throws {CallerLeft} When the caller left meanwhile.
 */
export async function callUpstream(
  fetch: Fetch,
  call: UpstreamCall,
): Promise<UpstreamAnswer> {
  const { url, controller, connects, deadlines } = call;
  const sinceMs = deadlines.elapsedMs();
  // The shorter deadline comes first, so that the timer of all is set once for both.
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
 * An upstream's answer without its content encoding. Some compress although they are asked not to, and the
 * caller need not understand what they chose. Where `fetch` has undone it already, as Deno 2.7 does unasked,
 * the header is gone too.
 *
 * @throws {GatewayError} `upstream` when the encoding is unknown; while reading, when the body does not keep
 * to it.
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

const UNREADABLE = "it is compressed in a way that cannot be undone";

/** What is looked at of an upstream's answer; a `Response` has all of it. */
export interface UpstreamAnswer {
  readonly status: number;
  /** Whether the status is a good one, from 200 to 299. */
  readonly ok: boolean;
  readonly headers: HeaderFields;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** An answer with its headers read once for all who look at them. */
function withReadHeaders(answer: Response): UpstreamAnswer {
  const { status, ok, body } = answer;
  return { status, ok, headers: readHeaders(answer.headers), body };
}
