import { STEP_BYTES, Turns } from "../core/time/turns.ts";
import { joinBytes } from "./bytes.ts";

/**
 * How large the buffer is that waits for bytes: the smallest first, twice as large while it is filled, and then as
 * large as the last piece was, so that the next of that length comes in one read. What has fallen silent costs no more
 * than `steady`.
 */
const BUFFER_BYTES = {
  smallest: 4 * 1024,
  steady: 16 * 1024,
  largest: 64 * 1024,
};

/** How a body is read. */
interface ByteReaderOptions {
  /** How large the first buffer is, more than 0: as long as the body, where that is known; default 4 KiB. */
  readonly firstBytes?: number | undefined;
  /** How large a buffer is at least; default 4 KiB. */
  readonly leastBytes?: number | undefined;
  /** Most bytes of a chunk; default: 64 KiB where the body fills buffers, else as many as it gives. */
  readonly mostBytes?: number | undefined;
}

/** A chunk that fills less than this share of its buffer is copied out of it. */
const SMALL_SHARE = 1 / 4;

/**
 * Reads a body in chunks as they come, each of which is the reader's to keep. `fetch` itself gives every chunk a
 * buffer of 64 KiB, however few bytes an event has, and keeps another one waiting; with thousands of streams that
 * is most of what they cost. Where the body allows it, this waits with a small buffer of its own instead.
 *
 * Other requests have their turn between the chunks of a body that is there already, or that is inflated: every answer
 * of a provider is read here, so that none of them holds the event loop, however much comes at once.
 */
export function createByteReader(
  body: ByteSource,
  options: ByteReaderOptions = {},
): ByteReader {
  if (!(body instanceof ReadableStream)) {
    return createChunkReader(body, options);
  }
  const reader = byobReader(body);
  return reader === undefined
    ? createChunkReader(body.getReader(), options)
    : createBufferReader(reader, options);
}

/**
 * Reads a caller's body, whose length nobody may know, as {@linkcode createByteReader} does. Deno 2.9 waits forever
 * where the buffer is smaller than what frames a chunk: its size, extensions and trailers. Deno 2.7 takes 16 KiB of
 * these.
 */
export function createUploadReader(
  body: ByteSource,
): ByteReader {
  const { steady } = BUFFER_BYTES;
  return createByteReader(body, { firstBytes: steady, leastBytes: steady });
}

/** Reads chunks as the body gives them. */
function createChunkReader(
  reader: ReadableStreamDefaultReader<Uint8Array> | ByteReader,
  { mostBytes = Infinity }: ByteReaderOptions,
): ByteReader {
  const turns = new Turns();
  let rest: Uint8Array | undefined;

  function take(read: ByteRead): ByteRead {
    const { done, value } = read;
    if (done) return read;
    turns.count(costOf(value.length, mostBytes));
    if (value.length <= mostBytes) return read;
    rest = value.subarray(mostBytes);
    return { done, value: value.subarray(0, mostBytes) };
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

/** Reads into buffers of its own. */
function createBufferReader(
  reader: ReadableStreamBYOBReader,
  {
    firstBytes = BUFFER_BYTES.smallest,
    leastBytes = BUFFER_BYTES.smallest,
    mostBytes = BUFFER_BYTES.largest,
  }: ByteReaderOptions,
): ByteReader {
  const turns = new Turns();
  let bufferBytes = Math.min(firstBytes, mostBytes);
  let spare: ArrayBuffer | undefined;
  /** How much has come of the piece that is coming: what a full buffer did not hold belongs to it. */
  let pieceBytes = 0;

  function adapt(readBytes: number, isFull: boolean): void {
    pieceBytes += readBytes;
    if (isFull) {
      bufferBytes = Math.min(2 * bufferBytes, mostBytes);
    } else {
      bufferBytes = Math.max(leastBytes, bufferFor(pieceBytes));
      pieceBytes = 0;
    }
  }

  function take(
    { done, value }: ReadableStreamReadResult<Uint8Array<ArrayBuffer>>,
  ): ByteRead {
    if (done) return { done: true };
    turns.count(costOf(value.length, mostBytes));
    const { buffer } = value;
    const size = buffer.byteLength;
    adapt(value.length, value.length === size);
    if (value.length > SMALL_SHARE * size) return { done: false, value };
    const chunk = value.slice();
    // Freed at once: the first buffers of thousands of streams would lie there together until they are collected.
    if (size === bufferBytes) spare = buffer;
    else buffer.transfer(0);
    return { done: false, value: chunk };
  }

  function read(): Promise<ByteRead> {
    const buffer = spare ?? new ArrayBuffer(bufferBytes);
    spare = undefined;
    return reader.read(new Uint8Array(buffer)).then(take);
  }

  return {
    read: () => turns.next()?.then(read) ?? read(),
    cancel: (reason) => reader.cancel(reason),
  };
}

/** A chunk that could not be longer is a step by itself: what takes long to look through comes in small ones. */
function costOf(bytes: number, mostBytes: number): number {
  return bytes < mostBytes ? bytes : STEP_BYTES;
}

/** A piece of the same length leaves room, so that its end shows. */
function bufferFor(pieceBytes: number): number {
  const { smallest, steady } = BUFFER_BYTES;
  const steps = Math.floor(pieceBytes / smallest) + 1;
  return Math.min(steps * smallest, steady);
}

/**
 * A reader that lets a body write into memory of the caller's own. Only the platform's bodies are sure to be streams
 * of bytes, and nothing but an attempt tells.
 *
 * @returns `undefined` where the body is no stream of bytes, as when it went through a transform.
 * @throws {TypeError} When something reads the body already.
 */
export function byobReader(
  body: ReadableStream<Uint8Array>,
): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch (error) {
    if (error instanceof TypeError && !body.locked) return undefined;
    throw error;
  }
}

/**
 * What reads a body chunk by chunk: the reader of a stream, or one that can look ahead. Several stand one behind
 * another in each stream, and all of them wait for most of the time. So they go on with `then`: an `async` function
 * that waits takes a quarter of a KiB more, for each of them and again for each chunk.
 */
export interface ByteReader
  extends Pick<ReadableStreamDefaultReader<Uint8Array>, "cancel"> {
  read(): Promise<ByteRead>;
}

/** Bytes that arrive: a platform's stream, or a reader that gives chunks of its own. */
export type ByteSource = ReadableStream<Uint8Array> | ByteReader;

/** One step of a {@linkcode ByteReader}. */
export type ByteRead = ReadableStreamReadResult<Uint8Array> & {
  /** The chunk as `byteText` has it, where that was made already. */
  readonly text?: string | undefined;
};

/** A reader whose next chunks can be seen before they are read. */
export interface LookAhead extends ByteReader {
  /** One chunk further than was seen so far; `read` gives all of them again, in order, but for empty ones. */
  peek(): Promise<ByteRead>;
}

/**
 * Puts the ability to look ahead on a reader; what is seen and not yet read is held in memory. An empty chunk, which is
 * only a sign that the source is at work, is not: there may be millions of them.
 */
export function createLookAhead(reader: ByteReader): LookAhead {
  const seen: Promise<ByteRead>[] = [];
  return {
    async peek() {
      const next = reader.read();
      seen.push(next);
      const read = await next;
      if (read.value?.length === 0 && seen.at(-1) === next) seen.pop();
      return read;
    },
    read: () => seen.shift() ?? reader.read(),
    cancel: (reason) => reader.cancel(reason),
  };
}

/** Gives an answer up unread; how its upstream takes that changes nothing. */
export function discard(
  answer: { readonly body: Pick<ByteReader, "cancel"> | null },
): void {
  answer.body?.cancel().catch(() => {
    // It broke off already.
  });
}

/** Gives up what is left to read; how its source takes that changes nothing. */
export function abandon(
  reader: Pick<ByteReader, "cancel">,
  reason?: unknown,
): void {
  reader.cancel(reason).catch(() => {
    // It broke off already.
  });
}

/**
 * Reads a body whole.
 *
 * @param maxBytes A longer body is given up.
 * @param length How long it is, where that is known: then its end is not waited for.
 * @returns `undefined` when it is longer than `maxBytes`; the rest is not wanted then.
 * @throws Whatever the reader throws.
 */
export async function readAll(
  reader: ByteReader,
  maxBytes: number,
  length?: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joinBytes(chunks);
    chunks.push(value);
    bytes += value.length;
    if (bytes > maxBytes || bytes === length) break;
  }
  abandon(reader);
  return bytes > maxBytes ? undefined : joinBytes(chunks);
}

/**
 * Reads an answer whole, as text.
 *
 * @param maxBytes A longer answer is given up.
 * @returns `undefined` when it is longer than `maxBytes`.
 * @throws Whatever reading it throws.
 */
export async function readText(
  { body }: Response,
  maxBytes: number,
): Promise<string | undefined> {
  if (body === null) return "";
  const bytes = await readAll(createByteReader(body), maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}
