import type { Deadlines } from "../core/time/deadlines.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import {
  abandon,
  byobReader,
  type ByteSource,
  createByteReader,
  readAll,
} from "../streams/byte_reader.ts";
import {
  createWatchedReader,
  ReadingWatch,
  type ReadingWatchOptions,
} from "../streams/watched_reader.ts";
import type { UpstreamAnswer } from "./call.ts";
import { failedReading } from "./failure.ts";

type AnswerBody = Pick<UpstreamAnswer, "body" | "headers">;

/** What bounds the reading of a body. */
export interface ReadBodyOptions {
  readonly deadlines: Deadlines;
  /** How long the upstream may be silent, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** Ends the exchange; its reason is thrown when it is aborted meanwhile. */
  readonly controller: AbortController;
}

/** What bounds the reading of a good answer's whole body. */
interface ReadAnswerOptions extends ReadBodyOptions {
  readonly maxBytes: number;
}

/**
 * Reads the body of an upstream's good answer. While bytes come it may take as long as the caller waits: some
 * providers send white space while their model works.
 *
 * @returns `undefined` when it is longer than `maxBytes`.
 * @throws {GatewayError} `upstream` when it breaks off, `timeout` when the upstream falls silent.
 */
export function readAnswerBytes(
  { body, headers }: AnswerBody,
  options: ReadAnswerOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return body === null
    ? Promise.resolve(new Uint8Array())
    : readBodyBytes(body, declaredBytes(headers), options);
}

/**
 * Reads a body as {@linkcode readAnswerBytes} does.
 *
 * @param declared How long it says that it is, in bytes; `undefined` where it does not.
 */
export async function readBodyBytes(
  body: ByteSource,
  declared: number | undefined,
  { maxBytes, deadlines, idleMs, controller }: ReadAnswerOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { signal } = controller;
  const watched = { deadlines, idleMs, signal };
  // A length of 0 is none to wait for.
  const length = declared || undefined;
  try {
    if (length !== undefined && length <= Math.min(maxBytes, MOST_AT_ONCE)) {
      const reader = body instanceof ReadableStream
        ? byobReader(body)
        : undefined;
      if (reader !== undefined) return await readShort(reader, length, watched);
    }
    const firstBytes = length && Math.min(length, MOST_AT_ONCE);
    const reader = createByteReader(body, { firstBytes });
    return await readAll(
      createWatchedReader(reader, watched),
      maxBytes,
      length,
    );
  } catch (cause) {
    const failure = failedReading(cause, signal);
    controller.abort(failure);
    throw failure;
  }
}

/** Of an answer that says how long it is, so much is read at once, in bytes. */
const MOST_AT_ONCE = 64 * 1024;

/** Reads a body straight into memory of its length; its end is not waited for. */
async function readShort(
  reader: ReadableStreamBYOBReader,
  length: number,
  watched: ReadingWatchOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const watch = new ReadingWatch(reader, watched);
  let buffer = new ArrayBuffer(length);
  let filled = 0;
  while (filled < length) {
    const rest = new Uint8Array(buffer, filled);
    const { done, value } = await watch.waitFor(reader.read(rest));
    if (value === undefined) throw new TypeError("The body was cancelled");
    buffer = value.buffer;
    filled += value.length;
    if (done) break;
  }
  watch.stop();
  abandon(reader);
  return new Uint8Array(buffer, 0, filled);
}

/**
 * How long an answer says that its body is; `undefined` where it does not. The length of a compressed body says nothing
 * about it, nor does one that stands beside chunks, which are what counts (RFC 9112, section 6.3).
 */
export function declaredBytes(headers: HeaderFields): number | undefined {
  const isOther = headers.has("content-encoding") ||
    headers.has("transfer-encoding");
  const length = isOther ? NaN : Number(headers.get("content-length") ?? NaN);
  return Number.isNaN(length) ? undefined : length;
}

/** An error that takes more than this to explain itself is known by its status alone, in bytes. */
const MAX_ERROR_BYTES = 256 * 1024;

/**
 * So is one that takes longer, in milliseconds: a caller waits for another attempt, and no model is at work that
 * would need the time.
 */
const MAX_ERROR_MS = 30_000;

/**
 * Reads the body of an upstream's error.
 *
 * @returns `undefined` when it is too long, or comes too slowly.
 * @throws {GatewayError} `upstream` when it breaks off, `timeout` when the upstream falls silent.
 */
export async function readErrorBytes(
  answer: AnswerBody,
  options: ReadBodyOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { deadlines, controller } = options;
  const late = new Error("The error comes too slowly");
  const cancel = deadlines.start(MAX_ERROR_MS, () => controller.abort(late));
  try {
    return await readAnswerBytes(answer, {
      ...options,
      maxBytes: MAX_ERROR_BYTES,
    });
  } catch (error) {
    if (error === late) return undefined;
    throw error;
  } finally {
    cancel();
  }
}
