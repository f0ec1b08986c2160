import {
  abandon,
  byobReader,
  type ByteReader,
  createUploadReader,
} from "./byte_reader.ts";
import { LongBytes } from "./bytes.ts";

/** A body is shorter or longer than it was said to be. */
export class WrongLengthError extends Error {
  override readonly name = "WrongLengthError";

  constructor() {
    super("Cannot read the body: it is not as long as it was said to be");
  }
}

/** A body of unknown length is longer than it may be. */
export class TooLongError extends Error {
  override readonly name = "TooLongError";

  constructor(maxBytes: number) {
    super(`Cannot read the body: it has more than ${maxBytes} bytes`);
  }
}

/** How {@linkcode readPieces} reads. */
export interface ReadPiecesOptions {
  /** How long the body is, in bytes; `undefined` where that is not known. */
  readonly length: number | undefined;
  /** How long a body may be whose length is not known, in bytes. */
  readonly maxBytes: number;
  /** How long a piece is, in bytes. */
  readonly pieceBytes: number;
  /** The most to ask the platform for at once, in bytes; default: a piece. */
  readonly readBytes?: number | undefined;
  /** Counts what the pieces take of memory. */
  readonly memory: PiecesMemory;
  /** Gets each full piece, and the last; no more is read before it is done. */
  readonly onPiece: (piece: Uint8Array<ArrayBuffer>) => void | Promise<void>;
  /** Ends the reading when it aborts. */
  readonly signal: AbortSignal;
}

/** Counts the memory of pieces, in bytes. */
interface PiecesMemory {
  /** Called before memory is allocated; what it throws ends the reading. */
  take(bytes: number): void;
  /** Called at the end with what was not needed. */
  give(bytes: number): void;
}

/**
 * Reads a body in pieces of one length: straight into their memory where its length is known and the stream can do
 * that, which saves a copy of each chunk. Memory grows as the body comes, see {@linkcode FIRST_BYTES}.
 *
 * @returns The pieces, of which the last may be shorter.
 * @throws {WrongLengthError} When the body has another length.
 * @throws {TooLongError} When a body of unknown length is longer than `maxBytes`.
 * @throws The reason of the signal, what the body throws, and what `onPiece` and `memory` throw. What was read is
 * freed then.
 */
export async function readPieces(
  body: ReadableStream<Uint8Array>,
  options: ReadPiecesOptions,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const { signal } = options;
  const growing = new GrowingPieces(options);
  const { reader, read } = openReader(body, { ...options, growing });
  const cancel = () => abandon(reader);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    await read();
    signal.throwIfAborted();
    return growing.pieces;
  } catch (error) {
    cancel();
    new LongBytes(growing.pieces).free();
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** What reads a body, and where to. */
interface Reading extends ReadPiecesOptions {
  readonly growing: GrowingPieces;
}

/** A reader, and what reads all with it. */
interface OpenReader {
  readonly reader: Pick<ByteReader, "cancel">;
  read(): Promise<void>;
}

/** The end of a piece may be too small for what frames a chunk, see {@linkcode createUploadReader}. */
function openReader(
  body: ReadableStream<Uint8Array>,
  reading: Reading,
): OpenReader {
  const straight = reading.length === undefined ? undefined : byobReader(body);
  if (straight !== undefined) {
    return { reader: straight, read: () => readStraight(straight, reading) };
  }
  const reader = createUploadReader(body);
  return { reader, read: () => readChunks(reader, reading) };
}

async function readStraight(
  reader: ReadableStreamBYOBReader,
  { growing, pieceBytes, readBytes = pieceBytes, onPiece }: Reading,
): Promise<void> {
  let isOver = false;
  while (!isOver && growing.left > 0) {
    const { done, value } = await reader.read(growing.room(readBytes));
    if (value === undefined) throw new WrongLengthError();
    isOver = done;
    const piece = growing.fill(value);
    if (piece !== undefined) await onPiece(piece);
  }
  // One byte more shows that there are too many.
  if (!isOver && !(await reader.read(new Uint8Array(1))).done) {
    throw growing.tooLong();
  }
  const last = growing.end();
  if (last !== undefined) await onPiece(last);
}

async function readChunks(
  reader: ByteReader,
  { growing, onPiece }: Reading,
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (let taken = 0; taken < value.length;) {
      const rest = value.length - taken;
      const room = growing.room(rest, rest);
      room.set(value.subarray(taken, taken + room.length));
      taken += room.length;
      const piece = growing.fill(room);
      if (piece !== undefined) await onPiece(piece);
    }
  }
  const last = growing.end();
  if (last !== undefined) await onPiece(last);
}

/**
 * The first memory of a body, in bytes, before anything of it has come. From then on there is at most twice as much as
 * has come, so that a body that only says it is long takes next to nothing.
 */
const FIRST_BYTES = 16 * 1024;

/** The pieces of a body, the last of which grows as bytes come. */
class GrowingPieces {
  readonly pieces: Uint8Array<ArrayBuffer>[] = [];
  /** How many bytes may come yet. */
  left: number;
  readonly #options: ReadPiecesOptions;
  #buffer = new ArrayBuffer(0);
  /** How much of the buffer is filled. */
  #filled = 0;
  /** How many bytes have come in all. */
  #arrived = 0;

  constructor(options: ReadPiecesOptions) {
    this.#options = options;
    this.left = options.length ?? options.maxBytes;
  }

  /** Returns the error for a body of which more comes than may. */
  tooLong(): Error {
    return this.#options.length === undefined
      ? new TooLongError(this.#options.maxBytes)
      : new WrongLengthError();
  }

  /**
   * Returns memory for the next bytes.
   *
   * @param mostBytes How much of it at most.
   * @param comeBytes How many bytes have come already and wait for memory.
   * @throws What {@linkcode GrowingPieces.tooLong} returns, when no more bytes may come.
   */
  room(mostBytes: number, comeBytes = 0): Uint8Array<ArrayBuffer> {
    if (this.left === 0) throw this.tooLong();
    if (this.#filled === this.#buffer.byteLength) this.#grow(comeBytes);
    const free = this.#buffer.byteLength - this.#filled;
    return new Uint8Array(
      this.#buffer,
      this.#filled,
      Math.min(mostBytes, free),
    );
  }

  #grow(comeBytes: number): void {
    const { pieceBytes, memory } = this.#options;
    const ahead = Math.max(this.#arrived, comeBytes || FIRST_BYTES);
    const bytes = Math.min(
      this.#filled + Math.min(ahead, this.left),
      pieceBytes,
    );
    memory.take(bytes - this.#filled);
    this.#buffer = this.#buffer.transfer(bytes);
  }

  /**
   * Takes bytes that stand in the memory that {@linkcode GrowingPieces.room} gave.
   *
   * @returns The piece that they complete.
   */
  fill(
    { buffer, length }: Uint8Array<ArrayBuffer>,
  ): Uint8Array<ArrayBuffer> | undefined {
    this.#buffer = buffer;
    this.#filled += length;
    this.#arrived += length;
    this.left -= length;
    const isFull = this.#filled === this.#options.pieceBytes;
    return isFull || this.left === 0 ? this.#complete() : undefined;
  }

  /**
   * Frees the memory that was not needed.
   *
   * @returns The last piece, where it is not complete yet.
   * @throws {WrongLengthError} When more bytes should have come.
   */
  end(): Uint8Array<ArrayBuffer> | undefined {
    const { length, memory } = this.#options;
    if (length !== undefined && this.left > 0) throw new WrongLengthError();
    const spare = this.#buffer.byteLength - this.#filled;
    if (spare > 0) {
      this.#buffer = this.#buffer.transfer(this.#filled);
      memory.give(spare);
    }
    return this.#filled > 0 ? this.#complete() : undefined;
  }

  #complete(): Uint8Array<ArrayBuffer> {
    const piece = new Uint8Array(this.#buffer, 0, this.#filled);
    this.pieces.push(piece);
    this.#buffer = new ArrayBuffer(0);
    this.#filled = 0;
    return piece;
  }
}
