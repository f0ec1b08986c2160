import type { HttpClient, HttpResponse } from "@gateway/http1";
import type { HeaderFields } from "@gateway/base/header_fields";
import { type Deadlines, orNever } from "@gateway/base/time/deadlines";
import { discard } from "@gateway/base/streams/byte_reader";
import type { LongBytes } from "@gateway/base/streams/bytes";
import type { Sign } from "./aws_signature.ts";
import {
  decompress,
  readContentEncoding,
} from "@gateway/base/streams/decompress";
import {
  brokenUpstream,
  callErrorOf,
  silentUpstream,
  unanswered,
} from "./failure.ts";

/** The web's `fetch`, or a function of the same shape: the network, the demo provider or a test's script. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The error when the caller has disconnected. No response is then needed. */
export class CallerLeft extends Error {
  override readonly name = "CallerLeft";
}

/** One HTTP exchange with a provider. */
interface UpstreamCall {
  readonly url: string;
  readonly headers: [string, string][];
  readonly body: Uint8Array<ArrayBuffer> | Upload;
  /** Signs the request; absent when the connection sends its key. */
  readonly sign?: Sign | undefined;
  readonly deadlines: Deadlines;
  /** The longest time until the connection is open, in milliseconds; 0 means no limit. */
  readonly connectMs: number;
  /** The longest time until the head of the response, in milliseconds; 0 means no limit. The body has no limit. */
  readonly firstByteMs: number;
  /** See {@linkcode HttpRequest}. */
  readonly overNewConnection?: boolean | undefined;
  /** Aborts the exchange, including its body. The exchange then throws the reason of the signal. */
  readonly controller: AbortController;
}

/** A long request body, lent to an HTTP client until the client stops reading it. */
export class Upload {
  readonly body: LongBytes;
  readonly #onThrough: (() => void)[] = [];
  #isThrough = false;

  constructor(body: LongBytes) {
    this.body = body;
  }

  /** Calls `onThrough` when the client stops reading the body, or at once if the client has already stopped. */
  whenThrough(onThrough: () => void): void {
    if (this.#isThrough) onThrough();
    else this.#onThrough.push(onThrough);
  }

  /** Notes that the client has stopped reading the body. */
  end(): void {
    this.#isThrough = true;
    for (const onThrough of this.#onThrough.splice(0)) onThrough();
  }
}

/** The abort reason of a call whose response is late. */
const LATE = silentUpstream();

/** The lowest status of a response. A lower status is no final answer (RFC 9110, section 15.2). */
const MIN_STATUS = 200;

/** The highest status of a response. Some servers send higher statuses, but no `Response` can have such a status. */
const MAX_STATUS = 599;

/**
 * Sends a request and waits for the head of the response. Redirects are not followed. If the body has a content
 * encoding, it is decoded.
 *
 * @throws {GatewayError} `upstream` when there is no valid response or its status is not from 200 to 599, `timeout`
 * when the response is late.
 * @throws {CallerLeft} When the caller disconnected.
 */
export async function callUpstream(
  client: HttpClient,
  call: UpstreamCall,
): Promise<HttpResponse> {
  const { url, sign, connectMs, controller, deadlines } = call;
  const { signal } = controller;
  const cancel = deadlines.start(
    orNever(call.firstByteMs),
    () => controller.abort(LATE),
  );
  const upload = call.body instanceof Upload ? call.body : undefined;
  const body = call.body instanceof Upload ? call.body.body : call.body;
  let { headers } = call;
  let isSigned = sign === undefined;
  let response: HttpResponse;
  try {
    if (sign) headers = await sign({ method: "POST", url, headers, body });
    isSigned = true;
    response = await client.send({
      url,
      headers,
      body,
      onUploaded: upload && (() => upload.end()),
      connectMs,
      overNewConnection: call.overNewConnection,
      signal,
    });
  } catch (cause) {
    if (!isSigned) upload?.end();
    // The cause names the connection that stayed silent.
    if (signal.reason === LATE) throw silentUpstream(cause);
    throw callErrorOf(cause, signal, unanswered);
  } finally {
    cancel();
  }
  return readableResponse(response);
}

/** Returns a response without content encoding. @throws {GatewayError} When the status is not from 200 to 599. */
export function readableResponse(response: HttpResponse): HttpResponse {
  const { status } = response;
  if (status >= MIN_STATUS && status <= MAX_STATUS) {
    if (!NULL_BODY_STATUSES.has(status)) return undoEncoding(response);
    discard(response);
    return { ...response, body: null };
  }
  discard(response);
  throw brokenUpstream(`it has the status ${status}`);
}

/** Statuses with which no `Response` may have a body (Fetch Standard, "null body status"). */
const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Undoes the content encoding of a response. Some providers compress although the gateway asks them not to, and the
 * caller may not know the encoding. If `fetch` has already decoded the body, as in Deno 2.7, the header is missing, so
 * nothing is undone.
 *
 * @throws {GatewayError} `upstream` when the encoding is unknown. Reading the body throws the same error when the body
 * does not match the encoding.
 */
function undoEncoding(response: HttpResponse): HttpResponse {
  const { body, headers } = response;
  const encoding = readContentEncoding(headers.get("content-encoding"));
  if (body === null || encoding === "identity") return response;
  if (encoding === undefined) {
    discard(response);
    throw brokenUpstream(UNREADABLE);
  }
  const mismatch = (cause: unknown) => brokenUpstream(UNREADABLE, cause);
  return {
    ...response,
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
