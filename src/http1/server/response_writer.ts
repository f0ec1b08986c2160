import { type AnyResponse, DirectResponse } from "../direct_response.ts";
import { joinForWrite } from "../joined_write.ts";
import type { ByteReader } from "@gateway/base/streams/byte_reader";
import { PassThrough } from "@gateway/base/streams/pass_through";

/** The destination of a response: the caller's socket. */
interface ResponseTarget {
  /** Writes all of the bytes. Calls `onTaken` when the socket has taken some of the bytes. */
  readonly write: (bytes: Uint8Array, onTaken?: () => void) => Promise<void>;
  /** The method of the request. The method decides whether there is a body. */
  readonly method: string;
  /** True for a caller of HTTP/1.0. */
  readonly isOld: boolean;
  /** True when the socket may serve another request afterwards. */
  readonly isKept: boolean;
  /** Closes the socket. */
  readonly close: () => void;
  /** Calls `onLeft` when the caller leaves. */
  readonly follow: (onLeft: () => void) => void;
}

/** The parts of a body are written once they have more than this many bytes together. */
const LARGE_BYTES = 64 * 1024;

/**
 * The reason phrases of the gateway's own statuses. Other statuses get no phrase, because clients need only the status.
 */
const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  426: "Upgrade Required",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/**
 * Writes a response: the head and all parts of the body that are ready together, in one write. A body that is ready as
 * a whole gets a `content-length`; any other body is sent in chunks.
 *
 * @returns True when all of the response was written. False when the caller left or the body broke, and the socket must
 * be closed.
 */
export async function writeResponse(
  response: AnyResponse,
  target: ResponseTarget,
): Promise<boolean> {
  const out = new OutgoingBytes(response, target);
  const source = sourceOf(response);
  const leave = () => {
    if (!(source instanceof Uint8Array)) source.cancel().catch(() => {});
  };
  try {
    if (out.isBodiless) leave();
    else if (source instanceof Uint8Array) out.add(source);
    else await writeParts(source, out, { ...target, leave });
    await target.write(out.end());
    return out.isComplete;
  } catch {
    leave();
    // The caller gets the bytes that arrived, and sees from the missing end that the response is cut.
    await target.write(out.take()).catch(() => {});
    return false;
  }
}

type BodyReader = ByteReader | ReadableStreamDefaultReader<Uint8Array>;

/** Returns the bytes of a response's body, or a reader of these bytes. */
function sourceOf(response: AnyResponse): Uint8Array | BodyReader {
  if (response instanceof DirectResponse) return response.source;
  return response.body?.getReader() ?? NO_BYTES;
}

function fieldsOf(
  response: AnyResponse,
): Iterable<readonly [name: string, value: string]> {
  return response instanceof DirectResponse
    ? response.fields
    : response.headers;
}

/** Returns the value of a header; `undefined` when it is absent. */
export function fieldOf(
  response: AnyResponse,
  wanted: string,
): string | undefined {
  for (const [name, value] of fieldsOf(response)) {
    if (name === wanted) return value;
  }
  return undefined;
}

/** Writes the parts of a body as they arrive. Leaves the last parts in `out`. */
async function writeParts(
  reader: BodyReader,
  out: OutgoingBytes,
  { write, close, follow, leave }: ResponseTarget & {
    readonly leave: () => void;
  },
): Promise<void> {
  follow(leave);
  const stream = reader instanceof PassThrough ? reader : undefined;
  if (stream !== undefined) stream.onStall = close;
  const onTaken = stream && (() => stream.noteTaken());
  for (;;) {
    const next = reader.read();
    if (out.length > 0 && !await isReady(next)) {
      await write(out.take(), onTaken);
    }
    const { done, value } = await next;
    if (done) return;
    out.add(value);
    if (out.length > LARGE_BYTES) await write(out.take(), onTaken);
  }
}

const NO_BYTES = new Uint8Array();

/**
 * How many turns of the microtask queue a part that has arrived may take from the provider's socket to this writer. Six
 * turns suffice; the rest are spare.
 */
const READY_TURNS = 8;

/** Returns true when a promise settles within {@linkcode READY_TURNS}, without waiting for an event of the platform. */
async function isReady(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settle = () => isSettled = true;
  promise.then(settle, settle);
  for (let turn = 0; turn < READY_TURNS && !isSettled; turn++) await undefined;
  return isSettled;
}

/**
 * The bytes of a response that are still to be written. The head is formatted at the first write, because only then it
 * is known how the body ends.
 */
class OutgoingBytes {
  /** True when there is no body, whatever the response says (RFC 9110, sections 9.3.2, 15.3.5 and 15.4.5). */
  readonly isBodiless: boolean;
  /** An estimate of the number of waiting bytes, head included. */
  length = 1;
  readonly #response: AnyResponse;
  readonly #target: ResponseTarget;
  readonly #declaredBytes: number | undefined;
  #parts: Uint8Array[] = [];
  #bodyBytes = 0;
  #isBegun = false;
  #isChunked = false;

  constructor(response: AnyResponse, target: ResponseTarget) {
    const { status } = response;
    this.#response = response;
    this.#target = target;
    this.isBodiless = target.method === "HEAD" || status === 204 ||
      status === 304;
    const declared = fieldOf(response, "content-length");
    this.#declaredBytes = declared === undefined ? undefined : Number(declared);
  }

  /** True when the body is as long as its header promised. */
  get isComplete(): boolean {
    return this.#declaredBytes === undefined ||
      this.#declaredBytes === this.#bodyBytes;
  }

  /** Adds a part of the body. */
  add(part: Uint8Array): void {
    this.#parts.push(part);
    this.length += part.length;
    this.#bodyBytes += part.length;
  }

  /** Takes the waiting bytes while more of the body will follow. */
  take(): Uint8Array {
    let head = "";
    if (!this.#isBegun) {
      this.#isChunked = this.#declaredBytes === undefined &&
        !this.#target.isOld;
      head = this.#formatHead(
        this.#isChunked ? "transfer-encoding: chunked\r\n" : "",
      );
    }
    return this.#join(head, "");
  }

  /** Takes the waiting bytes at the end of the body. */
  end(): Uint8Array {
    if (this.#isBegun) {
      return this.#join("", this.#isChunked ? "0\r\n\r\n" : "");
    }
    const mayFrame = this.#declaredBytes === undefined && !this.isBodiless;
    return this.#join(
      this.#formatHead(
        mayFrame ? `content-length: ${this.#bodyBytes}\r\n` : "",
      ),
      "",
    );
  }

  #formatHead(framing: string): string {
    this.#isBegun = true;
    const { status } = this.#response;
    const { isKept } = this.#target;
    let head = `HTTP/1.1 ${status} ${REASONS[status] ?? ""}\r\n`;
    let hasDate = false;
    for (const [name, value] of fieldsOf(this.#response)) {
      if (!OWN_NAMES.has(name)) head += `${name}: ${value}\r\n`;
      if (name === "date") hasDate = true;
    }
    if (!isKept) head += "connection: close\r\n";
    if (!hasDate) head += `date: ${httpDate()}\r\n`;
    return `${head}${framing}\r\n`;
  }

  /** Joins a text, the parts, and a text after them. Each character of a text is one byte. */
  #join(before: string, after: string): Uint8Array {
    const parts = this.#parts;
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    this.#parts = [];
    this.length = 0;
    const isChunk = this.#isChunked && bytes > 0;
    const start = isChunk ? `${before}${bytes.toString(16)}\r\n` : before;
    const end = isChunk ? `\r\n${after}` : after;
    const [only] = parts;
    if (only !== undefined && only.length === bytes && start + end === "") {
      return only;
    }
    return joinForWrite(start, parts, end);
  }
}

/** Headers that the server writes itself. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
]);

let dateSecond = 0;
let dateText = "";

/** Returns the current value of the `date` header (RFC 9110, section 6.6.1). */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}
