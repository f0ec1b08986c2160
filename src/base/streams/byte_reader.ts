import { LimitedBytesTransformStream, toText } from "../std.ts";
import type { Deadlines } from "../time/deadlines.ts";
import { LoopTurns, STEP_BYTES } from "../time/turns.ts";
import { joinBytes, ownBytes } from "./bytes.ts";

interface ByteReaderOptions {
  /** The maximum size of a chunk; default: none. */
  readonly maxChunkBytes?: number | undefined;
}

/**
 * Creates a reader of a body's chunks as they arrive. The caller may keep the chunks.
 *
 * Other requests get their turn between the chunks. Every provider's response passes through such a reader, so a large
 * response cannot block the event loop.
 *
 * @throws {TypeError} When the body already has a reader.
 */
export function createByteReader(
  body: ByteSource,
  { maxChunkBytes = Infinity }: ByteReaderOptions = {},
): ByteReader {
  const reader = body instanceof ReadableStream ? body.getReader() : body;
  const turns = new LoopTurns();
  let rest: Uint8Array | undefined;

  function take(read: ByteRead): ByteRead {
    const { done, value } = read;
    if (done) return read;
    turns.count(costOf(value.length, maxChunkBytes));
    if (value.length <= maxChunkBytes) return read;
    rest = value.subarray(maxChunkBytes);
    return { done, value: value.subarray(0, maxChunkBytes) };
  }

  function read(): Promise<ByteRead> {
    if (rest === undefined) return reader.read().then(take);
    const value = rest;
    rest = undefined;
    return Promise.resolve(take({ done: false, value }));
  }

  return {
    read: () => turns.next()?.then(read) ?? read(),
    cancel: (reason) => reader.cancel(reason),
  };
}

/**
 * Returns the cost of a chunk. A chunk of the maximum size ends the turn. Callers set a small maximum only if scanning
 * a chunk is slow.
 */
function costOf(bytes: number, maxChunkBytes: number): number {
  return bytes < maxChunkBytes ? bytes : STEP_BYTES;
}

/**
 * Reads a body chunk by chunk. A stream passes through several readers, and most of them wait. The readers use `then`,
 * because a waiting `async` function takes 256 more bytes of memory per reader and chunk.
 */
export interface ByteReader
  extends Pick<ReadableStreamDefaultReader<Uint8Array>, "cancel"> {
  read(): Promise<ByteRead>;
}

/** A source of bytes: a stream of the platform, or a reader. */
export type ByteSource = ReadableStream<Uint8Array> | ByteReader;

/** A body that has arrived completely, such as a short body in the same packet as its head. */
export class WholeBody implements ByteReader {
  #bytes: Uint8Array<ArrayBuffer> | undefined;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  /** Returns the bytes at the first call; `undefined` later, and after `cancel`. */
  take(): Uint8Array<ArrayBuffer> | undefined {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes;
  }

  read(): Promise<ByteRead> {
    const value = this.take();
    return Promise.resolve(value ? { done: false, value } : { done: true });
  }

  cancel(): Promise<void> {
    this.take();
    return Promise.resolve();
  }
}

/** One step of a {@linkcode ByteReader}. */
export type ByteRead = ReadableStreamReadResult<Uint8Array> & {
  /** The chunk as a text of `byteText`, if that exists already. */
  readonly text?: string | undefined;
};

/** Changes the result of a read. */
export type ReadChange = (read: ByteRead) => ByteRead;

/** A reader whose next chunks can be seen before they are read. */
export interface LookAhead extends ByteReader {
  /**
   * Returns the next chunk that was not seen yet. `read` returns all seen chunks again, in order, without empty chunks.
   */
  peek(): Promise<ByteRead>;
}

/** Waiting chunks below this length, in bytes, are joined, because each separate chunk costs some 400 bytes more. */
const SHORT_BYTES = 1024;

/** The maximum length of a joined chunk, in bytes. */
const JOINED_BYTES = 16 * 1024;

const NOTHING = new Uint8Array();

/** Joins consecutive short chunks, and copies each of them only once. */
class ShortChunks {
  #joined: Uint8Array<ArrayBuffer> = NOTHING;

  /** Returns two chunks as one; `undefined` when one of the chunks is long, or when both together are too long. */
  join(last: Uint8Array, chunk: Uint8Array): Uint8Array | undefined {
    const isJoined = last.buffer === this.#joined.buffer;
    const length = last.length + chunk.length;
    if (chunk.length >= SHORT_BYTES || length > JOINED_BYTES) return undefined;
    if (!isJoined && last.length >= SHORT_BYTES) return undefined;
    if (!isJoined) {
      this.#joined = new Uint8Array(JOINED_BYTES);
      this.#joined.set(last);
    }
    this.#joined.set(chunk, last.length);
    return this.#joined.subarray(0, length);
  }
}

/**
 * Adds look-ahead to a reader. Chunks that were seen but not read are held in memory, and short chunks are joined.
 * Empty chunks only show that the source is active. They are not held, because there may be millions of them.
 */
export function createLookAhead(reader: ByteReader): LookAhead {
  const seen: Promise<ByteRead>[] = [];
  const short = new ShortChunks();
  /** The last chunk that was seen. */
  let last: Uint8Array | undefined;

  function hold(value: Uint8Array): void {
    if (value.length === 0) return void seen.pop();
    const joined = seen.length > 1 && last && short.join(last, value);
    last = joined || value;
    if (joined) {
      seen.splice(-2, 2, Promise.resolve({ done: false, value: joined }));
    }
  }

  return {
    async peek() {
      const next = reader.read();
      seen.push(next);
      const read = await next;
      const isTaken = seen.at(-1) !== next;
      if (!read.done && !isTaken) hold(read.value);
      return read;
    },
    read: () => seen.shift() ?? reader.read(),
    cancel: (reason) => reader.cancel(reason),
  };
}

/**
 * Turns a reader into a stream of the platform, for code that needs such a stream. The stream reads nothing ahead.
 *
 * @param start Receives the function that fails the stream outside a read.
 */
export function streamOf(
  source: ByteReader,
  start?: (fail: (error: unknown) => void) => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => start?.((error) => controller.error(error)),
    async pull(controller) {
      const { done, value } = await source.read();
      if (done) controller.close();
      else controller.enqueue(ownBytes(value));
    },
    cancel: (reason) => source.cancel(reason),
  }, { highWaterMark: 0 });
}

/** Cancels an unread response, and ignores its errors. */
export function discard(
  answer: { readonly body: Pick<ByteReader, "cancel"> | null },
): void {
  answer.body?.cancel().catch(() => {
    // The body broke off already.
  });
}

/** Cancels a reader, and ignores its errors. */
export function abandon(
  reader: Pick<ByteReader, "cancel">,
  reason?: unknown,
): void {
  reader.cancel(reason).catch(() => {
    // The source broke off already.
  });
}

/** The most time, in milliseconds, and the most bytes for reading a body to its end. */
const READ_OUT = { ms: 100, bytes: 16 * 1024 };

/**
 * Reads to the end of a body whose content is complete, so that the socket can serve again. The end may arrive a moment
 * after the content. Cancels a body that continues after its content.
 */
export function readOut(
  reader: ByteReader,
  { start }: Pick<Deadlines, "start">,
): void {
  let restBytes = READ_OUT.bytes;
  const stop = start(READ_OUT.ms, () => abandon(reader));

  async function readToEnd(): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      restBytes -= value.length;
      if (restBytes < 0) return abandon(reader);
    }
  }

  readToEnd().catch(() => {
    // The source broke off after its content.
  }).finally(stop);
}

/**
 * Reads a whole body.
 *
 * @param maxBytes The maximum length. A longer body is cancelled.
 * @param length The length of the body, if known. The function then does not wait for the end of the body.
 * @returns `undefined` when the body is longer than `maxBytes`.
 * @throws The errors of the reader.
 */
export async function readAll(
  reader: ByteReader,
  maxBytes: number,
  length?: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  const short = new ShortChunks();
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joinBytes(chunks);
    const last = chunks.at(-1);
    const joined = last && short.join(last, value);
    if (joined) chunks.pop();
    chunks.push(joined ?? value);
    bytes += value.length;
    if (bytes > maxBytes || bytes === length) break;
  }
  abandon(reader);
  return bytes > maxBytes ? undefined : joinBytes(chunks);
}

/**
 * Reads a whole response as text.
 *
 * @param maxBytes The maximum length. A longer response is cancelled.
 * @returns `undefined` when the response is longer than `maxBytes`.
 * @throws The errors of the body.
 */
export async function readText(
  { body }: { readonly body: ByteSource | null },
  maxBytes: number,
): Promise<string | undefined> {
  if (body === null) return "";
  const stream = body instanceof ReadableStream ? body : streamOf(body);
  const limit = new LimitedBytesTransformStream(maxBytes, { error: true });
  try {
    return await toText(stream.pipeThrough(limit));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
