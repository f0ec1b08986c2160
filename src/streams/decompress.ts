import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import {
  abandon,
  type ByteReader,
  type ByteSource,
  createUploadReader,
} from "./byte_reader.ts";

/**
 * What a `content-encoding` header says: `identity` where it says nothing, `undefined` where it names what
 * cannot be undone, several encodings among them.
 */
export function readContentEncoding(
  header: string | null | undefined,
): Compression | "identity" | undefined {
  const name = (header ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  return isCompression(name) ? name : undefined;
}

const NOTHING = new Uint8Array();

/** How a compression is undone. */
interface DecompressOptions {
  /** Makes the error for a body that does not keep to its compression, or ends before that does. */
  readonly mismatch: (cause: unknown) => Error;
}

/**
 * Undoes a compression while it is read. Bytes that came and hold nothing yet give an empty chunk, so that a
 * reader who listens for silence hears them. A body that breaks off throws its own error. To cancel the stream cancels
 * the body at once, also while a read waits for it, for which a generator's own `return()` would wait.
 */
export function decompress(
  body: ByteSource,
  compression: Compression,
  options: DecompressOptions,
): ReadableStream<Uint8Array> {
  const reader = createUploadReader(body);
  const inflater = createInflater(compression);
  const chunks = inflate(reader, inflater, options);

  async function letGo(reason?: unknown): Promise<void> {
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
        if (isOver) abandon({ cancel: letGo });
      }
    },
    cancel: letGo,
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
    yield* told(inflater.push(read.value), mismatch);
    yield NOTHING;
  }
  yield* told(inflater.end(), mismatch);
}

async function* told(
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
 * How to undo each content encoding. `node:zlib` because it inflates only as much as is read: a bomb stops where
 * its reader does, which the web's `DecompressionStream` does not promise.
 */
const DECOMPRESSORS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;

/** A content encoding that can be undone. */
export type Compression = keyof typeof DECOMPRESSORS;

/** Whether `name` is one, in lower case. */
function isCompression(name: string): name is Compression {
  return Object.hasOwn(DECOMPRESSORS, name);
}

/** Undoes a compression piece by piece. */
export interface Inflater {
  /**
   * Takes the next compressed bytes, and gives what they hold as it is asked for.
   *
   * @throws What the decompressor says when they do not keep to the compression, or more follows its end.
   */
  push(piece: Uint8Array): AsyncGenerator<Uint8Array>;
  /**
   * Gives what is left once no more pieces come.
   *
   * @throws When the compressed bytes ended before they were whole.
   */
  end(): AsyncGenerator<Uint8Array>;
  /** Gives the rest up. */
  destroy(): void;
}

/** More than a decompressor takes that has its last byte. */
const BEHIND_THE_END = new Uint8Array(64);

/** An inflater that has seen nothing yet. */
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

  /** What comes out until `isDone` says so. */
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

  /** Brotli has no length and no checksum: whoever takes more has not seen the end. */
  async function takesMore(): Promise<boolean> {
    const before = engine.bytesWritten;
    for await (const _ of write(BEHIND_THE_END)) return true;
    return engine.bytesWritten > before;
  }

  return {
    async *push(piece) {
      frame?.push(piece);
      if (!engine.readableEnded) yield* write(piece);
      // An engine ends before it is told to when there is more than it takes; that of zstd leaves its last bytes.
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
  return new Error("The compressed bytes end too early");
}

function tooMuch(): Error {
  return new Error("More follows the end of the compressed bytes");
}

/** Follows a zstd frame, to tell whether it is whole. */
interface ZstdFrame {
  /** Sees the next bytes, compressed as they came. */
  push(bytes: Uint8Array): void;
  /** Whether exactly one frame has come, to its end. */
  readonly isWhole: boolean;
}

/** What a frame begins with, as a little-endian number (RFC 8878, section 3.1.1). */
const MAGIC = 0xfd2fb528;

/** The type of a block that is one byte, to be repeated. */
const REPEATED_BYTE = 1;

const CHECKSUM_BYTES = 4;

/** A part of the format, which may come in pieces, and what reads it and says what follows. */
interface Field {
  readonly bytes: number;
  readonly read: (field: Uint8Array) => Field;
}

/** What is no frame, or follows one, has no end. */
const NO_FRAME: Field = { bytes: 1, read: () => NO_FRAME };

/**
 * Reads the lengths of a frame's blocks and nothing else. `node:zlib` of Deno 2.9 tells no frame that broke off
 * from a whole one, and loses what stands in a second frame.
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

  /** Returns what stands behind the field. */
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

/** How many bytes of a frame's header follow its descriptor. */
function restOfHeader(flags: number): number {
  const isSingleSegment = (flags & 0b100000) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 0b11] ?? 0;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >>> 6] ?? 0;
  return (isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes;
}

/** Little-endian. */
function numberOf(bytes: Uint8Array): number {
  return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
}
