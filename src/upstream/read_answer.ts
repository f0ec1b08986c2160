import type { Deadlines } from "../core/deadlines.ts";
import { createByteReader } from "../streams/byte_reader.ts";
import { readAll } from "../streams/read_all.ts";
import { createWatchedReader } from "../streams/watched_reader.ts";
import { failedReading } from "./failure.ts";

/** What bounds the reading of a body. */
export interface ReadBodyOptions {
  readonly deadlines: Deadlines;
  /** How long the upstream may be silent, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** Ends the exchange; its reason is thrown when it is aborted meanwhile. */
  readonly controller: AbortController;
}

/** What bounds the reading of a good answer's whole body. */
export interface ReadAnswerOptions extends ReadBodyOptions {
  readonly maxBytes: number;
}

/**
 * Reads the body of an upstream's good answer. While bytes come it may take as long as the caller waits: some
 * providers send white space while their model works.
 *
 * @returns `undefined` when it is longer than `maxBytes`.
 * @throws {GatewayError} `upstream` when it breaks off, `timeout` when the upstream falls silent.
 */
export async function readAnswerBytes(
  { body, headers }: Response,
  { maxBytes, deadlines, idleMs, controller }: ReadAnswerOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array();
  // A length of 0 is none to wait for.
  const length = declaredBytes(headers) || undefined;
  const firstBytes = length && Math.min(length, MOST_FIRST_BYTES);
  const reader = createWatchedReader(createByteReader(body, firstBytes), {
    deadlines,
    idleMs,
    signal: controller.signal,
  });
  try {
    return await readAll(reader, maxBytes, length);
  } catch (cause) {
    const failure = failedReading(cause, controller.signal);
    controller.abort(failure);
    throw failure;
  }
}

/** Of an answer that says how long it is, so much is read at once, in bytes. */
const MOST_FIRST_BYTES = 64 * 1024;

/**
 * How long an answer says that its body is; `undefined` where it does not. The length of a compressed body says nothing
 * about it, nor does one that stands beside chunks, which are what counts (RFC 9112, section 6.3).
 */
export function declaredBytes(headers: Headers): number | undefined {
  const text = headers.get("content-length");
  const isOther = headers.has("content-encoding") ||
    headers.has("transfer-encoding");
  const length = text === null || isOther ? NaN : Number(text);
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
  answer: Response,
  options: ReadBodyOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { deadlines, controller } = options;
  const late = new Error("The error comes too slowly");
  const takeBack = deadlines.start(MAX_ERROR_MS, () => controller.abort(late));
  try {
    return await readAnswerBytes(answer, {
      ...options,
      maxBytes: MAX_ERROR_BYTES,
    });
  } catch (error) {
    if (error === late) return undefined;
    throw error;
  } finally {
    takeBack();
  }
}
