import { byobReader } from "./byob_reader.ts";

/** A body is shorter or longer than it was said to be. */
export class WrongLengthError extends Error {
  override readonly name = "WrongLengthError";

  constructor() {
    super("Cannot read the body: it is not as long as it was said to be");
  }
}

/** What {@linkcode readPieces} is told. */
export interface ReadPiecesOptions {
  /** How long the body is, in bytes; `undefined` where that is not known. */
  readonly length: number | undefined;
  /** How long a piece is, in bytes. */
  readonly pieceBytes: number;
  /** The most to ask the platform for at once, in bytes; default: a piece. */
  readonly readBytes?: number | undefined;
  /** Sees each piece when it is full, and the last; no more is read before it is done. */
  readonly onPiece: (piece: Uint8Array<ArrayBuffer>) => void | Promise<void>;
  /** Gives the body up when it aborts. */
  readonly signal: AbortSignal;
}

/**
 * Reads a body in pieces of one length, however it comes: straight into their memory where the stream can do that,
 * which spares a copy of each chunk.
 *
 * @returns The pieces, of which the last may be shorter.
 * @throws {WrongLengthError} When the body has another length, or was given up.
 * @throws Whatever the body throws, and what `onPiece` does.
 */
export async function readPieces(
  body: ReadableStream<Uint8Array>,
  options: ReadPiecesOptions,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const { signal } = options;
  const { reader, read } = openReader(body, options);
  const cancel = () => {
    reader.cancel().catch(() => {
      // Nobody waits for the rest of this body any more.
    });
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const pieces = await read();
    if (signal.aborted) throw new WrongLengthError();
    return pieces;
  } catch (error) {
    cancel();
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** A reader, and what reads all with it. */
interface OpenReader {
  readonly reader: { cancel(): Promise<void> };
  read(): Promise<Uint8Array<ArrayBuffer>[]>;
}

function openReader(
  body: ReadableStream<Uint8Array>,
  options: ReadPiecesOptions,
): OpenReader {
  const straight = byobReader(body);
  if (straight !== undefined) {
    return { reader: straight, read: () => readStraight(straight, options) };
  }
  const reader = body.getReader();
  return { reader, read: () => readChunks(reader, options) };
}

async function readStraight(
  reader: ReadableStreamBYOBReader,
  { length, pieceBytes, readBytes = pieceBytes, onPiece }: ReadPiecesOptions,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const count = createCount(length);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    // One byte more shows that there are more than was said.
    const room = Math.min(pieceBytes, count.left + 1);
    const piece = await fill(new ArrayBuffer(room), reader, readBytes);
    count.add(piece.length);
    if (piece.length > 0) {
      pieces.push(piece);
      await onPiece(piece);
    }
    if (piece.length < room) break;
  }
  count.end();
  return pieces;
}

/** Reads until the memory is full or nothing more comes. */
async function fill(
  memory: ArrayBuffer,
  reader: ReadableStreamBYOBReader,
  readBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  let buffer = memory;
  let filled = 0;
  while (filled < buffer.byteLength) {
    const room = Math.min(readBytes, buffer.byteLength - filled);
    const view = new Uint8Array(buffer, filled, room);
    const { done, value } = await reader.read(view);
    if (value === undefined) throw new WrongLengthError();
    buffer = value.buffer;
    if (done) break;
    filled += value.length;
  }
  return new Uint8Array(buffer, 0, filled);
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { length, pieceBytes, onPiece }: ReadPiecesOptions,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const count = createCount(length);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let piece = new Uint8Array();
  let filled = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    count.add(value.length);
    for (let taken = 0; taken < value.length;) {
      const part = value.subarray(taken, taken + pieceBytes - filled);
      piece = withRoom(piece, filled + part.length, pieceBytes);
      piece.set(part, filled);
      taken += part.length;
      filled += part.length;
      if (filled === pieceBytes) {
        pieces.push(piece);
        await onPiece(piece);
        piece = new Uint8Array();
        filled = 0;
      }
    }
  }
  count.end();
  if (filled === 0) return pieces;
  const rest = piece.subarray(0, filled);
  await onPiece(rest);
  return [...pieces, rest];
}

/** No more memory than twice of what has come: nobody knows whether a piece will be full. */
function withRoom(
  piece: Uint8Array<ArrayBuffer>,
  bytes: number,
  mostBytes: number,
): Uint8Array<ArrayBuffer> {
  if (bytes <= piece.length) return piece;
  const room = Math.min(Math.max(bytes, 2 * piece.length), mostBytes);
  return new Uint8Array(piece.buffer.transfer(room));
}

/** Holds what has come against the length that was said, where one was. */
function createCount(length: number | undefined) {
  let left = length ?? Infinity;
  return {
    /** How many bytes may come yet; `Infinity` where nobody knows. */
    get left() {
      return left;
    },
    add(bytes: number): void {
      left -= bytes;
      if (left < 0) throw new WrongLengthError();
    },
    end(): void {
      if (length !== undefined && left > 0) throw new WrongLengthError();
    },
  };
}
