import {
  abandon,
  byobReader,
  type ByteReader,
  type ByteSource,
  createByteReader,
} from "./byte_reader.ts";
import { LongBytes } from "./bytes.ts";

/** The error for a body that is shorter or longer than its declared length. */
export class WrongLengthError extends Error {
  override readonly name = "WrongLengthError";

  constructor() {
    super("Cannot read the body: its length differs from the declared one.");
  }
}

/** The error for a body of unknown length that exceeds the limit. */
export class TooLongError extends Error {
  override readonly name = "TooLongError";

  constructor(maxBytes: number) {
    super(`Cannot read the body: it has more than ${maxBytes} bytes.`);
  }
}

/** The options of {@linkcode readPieces}. */
interface ReadPiecesOptions {
  /** The length of the body, in bytes; `undefined` if it is unknown. */
  readonly length: number | undefined;
  /** The maximum length of a body of unknown length, in bytes. */
  readonly maxBytes: number;
  /** The greatest length of a piece, in bytes. */
  readonly pieceBytes: number;
  /** The maximum size of one read, in bytes; default: `pieceBytes`. */
  readonly readBytes?: number | undefined;
  /** Counts the memory of the pieces. */
  readonly memory: PiecesMemory;
  /** Receives the bytes of each read, and must not keep them. The next read waits for it. */
  readonly onBytes: (bytes: Uint8Array<ArrayBuffer>) => void | Promise<void>;
  /** Ends the reading when it aborts. */
  readonly signal: AbortSignal;
}

/** Counts the memory of pieces, in bytes. */
interface PiecesMemory {
  /** Called before memory is allocated. Its error ends the reading. */
  take(bytes: number): void;
  /** Called at the end with the bytes that were not needed. */
  give(bytes: number): void;
}

/**
 * Reads a body into pieces. If the length is known and the stream supports it, bytes are read straight into their memory,
 * which saves a copy. Memory grows with the body, see {@linkcode FIRST_BYTES}.
 *
 * @returns Pieces of at most `pieceBytes`; only long chunks that are kept as they came make shorter ones.
 * @throws {WrongLengthError} When the body has another length.
 * @throws {TooLongError} When a body of unknown length is longer than `maxBytes`.
 * @throws The reason of the signal, and the errors of the body, of `onBytes` and of `memory`. The bytes so far are then
 * freed.
 */
export async function readPieces(
  body: ByteSource,
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

/** The options of a reading, and the pieces that it fills. */
interface Reading extends ReadPiecesOptions {
  readonly growing: GrowingPieces;
}

/** A reader, and the function that reads everything with it. */
interface OpenReader {
  readonly reader: Pick<ByteReader, "cancel">;
  read(): Promise<void>;
}

/** Opens the fitting reader. A body that had arrived with its head is one chunk. */
function openReader(body: ByteSource, reading: Reading): OpenReader {
  if (!(body instanceof ReadableStream)) {
    return { reader: body, read: () => readChunks(body, reading) };
  }
  const isKnown = reading.length !== undefined;
  const straight = isKnown ? byobReader(body) : undefined;
  if (straight !== undefined) {
    return { reader: straight, read: () => readStraight(straight, reading) };
  }
  const reader = isKnown ? body.getReader() : createByteReader(body);
  return { reader, read: () => readChunks(reader, reading) };
}

async function readStraight(
  reader: ReadableStreamBYOBReader,
  { growing, pieceBytes, readBytes = pieceBytes, onBytes }: Reading,
): Promise<void> {
  let isOver = false;
  while (!isOver && growing.left > 0) {
    const { done, value } = await reader.read(growing.room(readBytes));
    if (value === undefined) throw new WrongLengthError();
    isOver = done;
    growing.fill(value);
    await onBytes(value);
  }
  // One more byte shows that the body is too long.
  if (!isOver && !(await reader.read(new Uint8Array(1))).done) {
    throw growing.tooLong();
  }
  growing.end();
}

async function readChunks(
  reader: ByteReader,
  { growing, onBytes }: Reading,
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const kept = growing.keep(value);
    if (kept !== undefined) {
      await onBytes(kept);
      continue;
    }
    for (let taken = 0; taken < value.length;) {
      const rest = value.length - taken;
      const room = growing.room(rest, rest);
      room.set(value.subarray(taken, taken + room.length));
      taken += room.length;
      growing.fill(room);
      await onBytes(room);
    }
  }
  growing.end();
}

/**
 * The first memory of a body, in bytes. After that, at most twice the arrived bytes are allocated. A body with a false
 * length takes almost nothing.
 */
const FIRST_BYTES = 16 * 1024;

/** The pieces of a body, of which the last grows as bytes arrive. */
class GrowingPieces {
  readonly pieces: Uint8Array<ArrayBuffer>[] = [];
  /** The number of bytes that may still arrive. */
  left: number;
  readonly #options: ReadPiecesOptions;
  #buffer = new ArrayBuffer(0);
  /** The number of bytes in the buffer. */
  #filled = 0;
  /** The number of bytes that arrived in all. */
  #arrived = 0;

  constructor(options: ReadPiecesOptions) {
    this.#options = options;
    this.left = options.length ?? options.maxBytes;
  }

  /** Returns the error for a body that exceeds its length or limit. */
  tooLong(): Error {
    return this.#options.length === undefined
      ? new TooLongError(this.#options.maxBytes)
      : new WrongLengthError();
  }

  /**
   * Returns memory for the next bytes.
   *
   * @param maxRoomBytes The maximum size of that memory.
   * @param arrivedBytes The number of bytes that have arrived and wait for memory.
   * @throws The error of {@linkcode GrowingPieces.tooLong}, when no more bytes may arrive.
   */
  room(maxRoomBytes: number, arrivedBytes = 0): Uint8Array<ArrayBuffer> {
    if (this.left === 0) throw this.tooLong();
    if (this.#filled === this.#buffer.byteLength) this.#grow(arrivedBytes);
    const free = this.#buffer.byteLength - this.#filled;
    return new Uint8Array(
      this.#buffer,
      this.#filled,
      Math.min(maxRoomBytes, free),
    );
  }

  /**
   * Keeps a chunk as a piece of its own, which saves a copy. It is long, or the whole body, and has its memory to itself:
   * a piece is freed with all of its memory, and counts with its length.
   *
   * @returns The piece; `undefined` when the chunk must be copied.
   */
  keep({ buffer, length }: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const { length: declared, pieceBytes, memory } = this.#options;
    const isWorth = length >= FIRST_BYTES || length === declared;
    const isKept = isWorth && length === buffer.byteLength &&
      length <= Math.min(this.left, pieceBytes);
    if (!isKept || !(buffer instanceof ArrayBuffer)) return undefined;
    this.#completePart();
    memory.take(length);
    const piece = new Uint8Array(buffer);
    this.pieces.push(piece);
    this.#arrived += length;
    this.left -= length;
    return piece;
  }

  #grow(arrivedBytes: number): void {
    const { pieceBytes, memory } = this.#options;
    const ahead = Math.max(this.#arrived, arrivedBytes || FIRST_BYTES);
    const bytes = Math.min(
      this.#filled + Math.min(ahead, this.left),
      pieceBytes,
    );
    memory.take(bytes - this.#filled);
    this.#buffer = this.#buffer.transfer(bytes);
  }

  /** Takes bytes in the memory that {@linkcode GrowingPieces.room} returned. */
  fill({ buffer, length }: Uint8Array<ArrayBuffer>): void {
    this.#buffer = buffer;
    this.#filled += length;
    this.#arrived += length;
    this.left -= length;
    const isFull = this.#filled === this.#options.pieceBytes;
    if (isFull || this.left === 0) this.#complete();
  }

  /**
   * Frees the memory that was not needed.
   *
   * @throws {WrongLengthError} When more bytes should have arrived.
   */
  end(): void {
    const { length } = this.#options;
    if (length !== undefined && this.left > 0) throw new WrongLengthError();
    this.#completePart();
  }

  /** Frees the memory of the last piece that has no bytes. */
  #completePart(): void {
    const spare = this.#buffer.byteLength - this.#filled;
    if (spare > 0) {
      this.#buffer = this.#buffer.transfer(this.#filled);
      this.#options.memory.give(spare);
    }
    if (this.#filled > 0) this.#complete();
  }

  #complete(): void {
    this.pieces.push(new Uint8Array(this.#buffer, 0, this.#filled));
    this.#buffer = new ArrayBuffer(0);
    this.#filled = 0;
  }
}
