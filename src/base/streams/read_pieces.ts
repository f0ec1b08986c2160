import {
  abandon,
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
  /** Counts the memory of the pieces. */
  readonly memory: PiecesMemory;
  /** Receives the bytes of each read, and must not keep them. The next read waits until `onBytes` is done. */
  readonly onBytes: (bytes: Uint8Array<ArrayBuffer>) => void | Promise<void>;
  /** Ends the reading when it aborts. */
  readonly signal: AbortSignal;
}

/** Counts the memory of pieces, in bytes. */
interface PiecesMemory {
  /** Called before memory is allocated. Its error ends the reading. */
  take(bytes: number): void;
  /** Called at the end with the number of bytes that were not needed. */
  give(bytes: number): void;
}

/**
 * Reads a body into pieces. Memory grows with the body.
 *
 * @param body The next read may overwrite a chunk, unless it is the whole body.
 * @returns Pieces of `pieceBytes`; the last one holds the rest.
 * @throws {WrongLengthError} When the body does not have the declared length.
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
  const reader = openReader(body, options.length !== undefined);
  const cancel = () => abandon(reader);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    await readChunks(reader, growing, options.onBytes);
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

/**
 * Opens a reader. Between chunks, other requests must get their turn. If the length of the body is known, `onBytes`
 * gives them their turn. Otherwise, the reader does.
 */
function openReader(body: ByteSource, isKnown: boolean): ByteReader {
  if (!(body instanceof ReadableStream)) return body;
  return isKnown ? body.getReader() : createByteReader(body);
}

async function readChunks(
  reader: ByteReader,
  growing: GrowingPieces,
  onBytes: ReadPiecesOptions["onBytes"],
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const kept = growing.keep(value);
    if (kept !== undefined) {
      await onBytes(kept);
      continue;
    }
    for (let rest = value; rest.length > 0;) {
      const copy = growing.copy(rest);
      rest = rest.subarray(copy.length);
      await onBytes(copy);
    }
  }
  growing.end();
}

/** The pieces of a body. The last one grows as bytes arrive. */
class GrowingPieces {
  readonly pieces: Uint8Array<ArrayBuffer>[] = [];
  /** The number of bytes that may still arrive. */
  #left: number;
  readonly #options: ReadPiecesOptions;
  #buffer = new ArrayBuffer(0);
  /** The number of bytes in the buffer. */
  #filled = 0;
  /** The number of bytes that arrived in all. */
  #arrived = 0;

  constructor(options: ReadPiecesOptions) {
    this.#options = options;
    this.#left = options.length ?? options.maxBytes;
  }

  /** Returns the error for a body that exceeds its length or limit. */
  #tooLong(): Error {
    return this.#options.length === undefined
      ? new TooLongError(this.#options.maxBytes)
      : new WrongLengthError();
  }

  /**
   * Copies as much of a chunk as the buffer has room for. The buffer is at most twice as long as the arrived bytes, so
   * that a false length takes almost no memory.
   *
   * @returns The copy.
   * @throws {WrongLengthError | TooLongError} When no more bytes may arrive.
   */
  copy(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
    if (this.#left === 0) throw this.#tooLong();
    if (this.#filled === this.#buffer.byteLength) this.#grow(chunk.length);
    const free = this.#buffer.byteLength - this.#filled;
    const length = Math.min(chunk.length, free);
    const copy = new Uint8Array(this.#buffer, this.#filled, length);
    copy.set(chunk.subarray(0, length));
    this.#filled += length;
    this.#arrived += length;
    this.#left -= length;
    const isFull = this.#filled === this.#options.pieceBytes;
    if (isFull || this.#left === 0) this.#complete();
    return copy;
  }

  /**
   * Keeps a chunk as the only piece, without a copy, if the chunk is the whole body and fills its buffer. The chunk
   * must fill the buffer, because freeing a piece frees its whole buffer, and only the piece's length is counted.
   *
   * @returns The piece; `undefined` when the chunk must be copied.
   */
  keep({ buffer, length }: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const { length: declared, pieceBytes, memory } = this.#options;
    const isKept = length === declared && length === buffer.byteLength &&
      length <= Math.min(this.#left, pieceBytes);
    if (!isKept || !(buffer instanceof ArrayBuffer)) return undefined;
    memory.take(length);
    const piece = new Uint8Array(buffer);
    this.pieces.push(piece);
    this.#arrived += length;
    this.#left -= length;
    return piece;
  }

  #grow(arrivedBytes: number): void {
    const { pieceBytes, memory } = this.#options;
    const ahead = Math.max(this.#arrived, arrivedBytes);
    const bytes = Math.min(
      this.#filled + Math.min(ahead, this.#left),
      pieceBytes,
    );
    memory.take(bytes - this.#filled);
    this.#buffer = this.#buffer.transfer(bytes);
  }

  /**
   * Frees the memory that was not needed.
   *
   * @throws {WrongLengthError} When more bytes should have arrived.
   */
  end(): void {
    const { length } = this.#options;
    if (length !== undefined && this.#left > 0) throw new WrongLengthError();
    this.#completePart();
  }

  /** Frees the unused memory of the last piece. */
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
