// Imports by name would fail to load in Node 20, which has no zstd.
import zlib from "node:zlib";
import {
  abandon,
  type ByteReader,
  type ByteSource,
  createByteReader,
} from "./byte_reader.ts";

/**
 * Parses a `content-encoding` header: `identity` if it is empty, `undefined` for an unknown encoding or several ones.
 */
export function readContentEncoding(
  header: string | null | undefined,
): Compression | "identity" | undefined {
  const name = (header ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  return isCompression(name) ? name : undefined;
}

const NOTHING = new Uint8Array();

interface DecompressOptions {
  /** Creates the error for a body that is not valid in its compression, or ends too early. */
  readonly mismatch: (cause: unknown) => Error;
}

/**
 * Decompresses a body while it is read. Compressed bytes without output give an empty chunk, so that an idle timeout
 * sees that bytes arrive. If the body breaks off, the error of the body is thrown.
 *
 * Cancelling the stream cancels the body at once, even during a read. A generator's own `return()` would wait for that
 * read.
 */
export function decompress(
  body: ByteSource,
  compression: Compression,
  options: DecompressOptions,
): ReadableStream<Uint8Array> {
  const reader = createByteReader(body);
  const inflater = createInflater(compression);
  const chunks = inflate(reader, inflater, options);

  async function cancelBody(reason?: unknown): Promise<void> {
    inflater.destroy();
    await reader.cancel(reason);
  }

  return new ReadableStream({
    async pull(controller) {
      let isOver = true;
      try {
        const { done, value } = await chunks.next();
        if (done) return controller.close();
        isOver = false;
        controller.enqueue(value);
      } finally {
        if (isOver) abandon({ cancel: cancelBody });
      }
    },
    cancel: cancelBody,
  }, { highWaterMark: 0 });
}

async function* inflate(
  body: ByteReader,
  inflater: Inflater,
  { mismatch }: DecompressOptions,
): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    const read = await body.read();
    if (read.done) break;
    yield* mapErrors(inflater.push(read.value), mismatch);
    yield NOTHING;
  }
  yield* mapErrors(inflater.end(), mismatch);
}

async function* mapErrors(
  inflated: ReturnType<Inflater["push"]>,
  mismatch: DecompressOptions["mismatch"],
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of inflated) yield chunk;
  } catch (cause) {
    throw mismatch(cause);
  }
}

/**
 * The decompressor of each content encoding. `node:zlib` inflates only as much as is read, so a zip bomb stops with its
 * reader. The web's `DecompressionStream` does not promise that.
 */
const DECOMPRESSORS = {
  gzip: zlib.createGunzip,
  "x-gzip": zlib.createGunzip,
  deflate: zlib.createInflate,
  br: zlib.createBrotliDecompress,
  zstd: zlib.createZstdDecompress,
} as const;

/** A supported content encoding. */
export type Compression = keyof typeof DECOMPRESSORS;

/** Returns true for the name of a supported encoding, in lower case. */
function isCompression(name: string): name is Compression {
  return Object.hasOwn(DECOMPRESSORS, name);
}

/** Decompresses bytes chunk by chunk. */
export interface Inflater {
  /**
   * Takes the next compressed bytes, and yields their content as it is read.
   *
   * @throws The decompressor's error when the bytes are not valid, or when more bytes follow their end.
   */
  push(piece: Uint8Array): AsyncGenerator<Uint8Array>;
  /**
   * Yields the rest after the last chunk.
   *
   * @throws When the compressed bytes are incomplete.
   */
  end(): AsyncGenerator<Uint8Array>;
  /** Drops the rest. */
  destroy(): void;
}

/** Filler to test whether the input has ended: after the end, a decompressor does not accept all of the filler. */
const AFTER_THE_END = new Uint8Array(64);

/** Creates an inflater for one body. */
export function createInflater(compression: Compression): Inflater {
  const engine = DECOMPRESSORS[compression]();
  const frame = compression === "zstd" ? createZstdFrame() : undefined;
  let change = Promise.withResolvers<void>();
  let fault: Error | undefined;

  function wake(): void {
    change.resolve();
    change = Promise.withResolvers();
  }

  engine.on("readable", wake);
  engine.on("end", wake);
  engine.on("error", (error: Error) => {
    fault = error;
    wake();
  });

  /** Yields the output until `isDone` returns true. */
  async function* take(isDone: () => boolean): AsyncGenerator<Uint8Array> {
    for (;;) {
      const changed = change.promise;
      const chunk: Uint8Array | null = engine.read();
      if (chunk !== null) yield chunk;
      else if (fault !== undefined) throw fault;
      else if (engine.readableEnded || isDone()) return;
      else await changed;
    }
  }

  function write(piece: Uint8Array): AsyncGenerator<Uint8Array> {
    let isTaken = false;
    engine.write(piece, () => {
      isTaken = true;
      wake();
    });
    return take(() => isTaken);
  }

  /** Returns true if the decompressor has not seen the end of its input. Brotli has no length or checksum to test. */
  async function takesMore(): Promise<boolean> {
    const before = engine.bytesWritten;
    for await (const _ of write(AFTER_THE_END)) return true;
    return engine.bytesWritten > before;
  }

  return {
    async *push(piece) {
      frame?.push(piece);
      if (!engine.readableEnded) yield* write(piece);
      // An engine ends early when it receives more than it accepts. The engine for zstd ignores the rest.
      if (engine.readableEnded && frame === undefined) throw tooMuch();
    },
    async *end() {
      if (compression === "br" && await takesMore()) throw cutShort();
      engine.end();
      yield* take(() => false);
      if (frame?.isWhole === false) throw cutShort();
    },
    destroy() {
      engine.destroy();
    },
  };
}

function cutShort(): Error {
  return new Error("The compressed bytes are incomplete");
}

function tooMuch(): Error {
  return new Error("More follows the end of the compressed bytes");
}

/** Follows a zstd frame to detect an incomplete one. */
interface ZstdFrame {
  /** Reads the next compressed bytes. */
  push(bytes: Uint8Array): void;
  /** True after exactly one complete frame. */
  readonly isWhole: boolean;
}

/** The number at the start of a frame, little-endian (RFC 8878, section 3.1.1). */
const MAGIC = 0xfd2fb528;

/** The type of a block that is one repeated byte. */
const REPEATED_BYTE = 1;

const CHECKSUM_BYTES = 4;

/** A part of the format, which may be split between chunks. `read` parses it and returns the next part. */
interface Field {
  readonly bytes: number;
  readonly read: (field: Uint8Array) => Field;
}

/** Bytes that are not a frame, or that follow a frame. */
const NO_FRAME: Field = { bytes: 1, read: () => NO_FRAME };

/**
 * Creates a reader of the lengths of a frame's blocks. `node:zlib` of Deno 2.9 accepts an incomplete frame, and ignores
 * a second frame.
 */
function createZstdFrame(): ZstdFrame {
  const held = new Uint8Array(4);
  let heldBytes = 0;
  let skipBytes = 0;
  let hasChecksum = false;

  const descriptor: Field = {
    bytes: 1,
    read([flags = 0]) {
      hasChecksum = (flags & 0b100) !== 0;
      skipBytes = restOfHeader(flags);
      return blockHeader;
    },
  };
  const blockHeader: Field = {
    bytes: 3,
    read(bytes) {
      const header = numberOf(bytes);
      const isRepeated = (header >>> 1 & 0b11) === REPEATED_BYTE;
      skipBytes = isRepeated ? 1 : header >>> 3;
      if ((header & 1) === 0) return blockHeader;
      if (hasChecksum) skipBytes += CHECKSUM_BYTES;
      return end;
    },
  };
  const end: Field = { bytes: 1, read: () => NO_FRAME };
  let field: Field = {
    bytes: 4,
    read: (bytes) => numberOf(bytes) === MAGIC ? descriptor : NO_FRAME,
  };

  function skip(bytes: Uint8Array): Uint8Array {
    const skipped = Math.min(skipBytes, bytes.length);
    skipBytes -= skipped;
    return bytes.subarray(skipped);
  }

  /** Reads the bytes of the current field. Returns the bytes after the field. */
  function take(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, field.bytes - heldBytes);
    held.set(part, heldBytes);
    heldBytes += part.length;
    if (heldBytes === field.bytes) {
      heldBytes = 0;
      field = field.read(held.subarray(0, field.bytes));
    }
    return bytes.subarray(part.length);
  }

  return {
    push(bytes) {
      let rest = skip(bytes);
      while (rest.length > 0) rest = skip(take(rest));
    },
    get isWhole() {
      return field === end && skipBytes === 0;
    },
  };
}

/** Returns the number of bytes in a frame's header after its descriptor. */
function restOfHeader(flags: number): number {
  const isSingleSegment = (flags & 0b100000) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 0b11] ?? 0;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >>> 6] ?? 0;
  return (isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes;
}

/** Reads a little-endian number. */
function numberOf(bytes: Uint8Array): number {
  return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
}
