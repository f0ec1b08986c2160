import { Buffer } from "node:buffer";

/**
 * Bytes in several arrays. Copying the bytes into one array would allocate memory. That costs more than all other work
 * on the bytes.
 */
export class LongBytes {
  /** The arrays in their order; they must not be changed. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  /** The number of bytes. */
  readonly length: number;

  constructor(pieces: readonly Uint8Array<ArrayBuffer>[]) {
    this.pieces = pieces;
    this.length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  /** Returns the bytes of a range, in the same memory. */
  slice(start: number, end: number = this.length): LongBytes {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let before = 0;
    for (const piece of this.pieces) {
      const from = Math.max(start - before, 0);
      const to = Math.min(end - before, piece.length);
      if (from < to) parts.push(piece.subarray(from, to));
      before += piece.length;
    }
    return new LongBytes(parts);
  }

  /** Returns all bytes in one array: a copy, unless there is only one array. */
  join(): Uint8Array<ArrayBuffer> {
    const [first] = this.pieces;
    if (first?.length === this.length) return first;
    const joined = new Uint8Array(this.length);
    let at = 0;
    for (const piece of this.pieces) {
      joined.set(piece, at);
      at += piece.length;
    }
    return joined;
  }

  /**
   * Frees the memory at once, because the garbage collector would find it late. The bytes must not be read afterwards.
   */
  free(): void {
    for (const { buffer } of this.pieces) {
      if (!buffer.detached) buffer.transfer(0);
    }
  }
}

/** Joins chunks: a copy, unless there is only one chunk. */
export function joinBytes(
  chunks: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  if (chunks.length === 1 && only?.buffer instanceof ArrayBuffer) {
    return new Uint8Array(only.buffer, only.byteOffset, only.byteLength);
  }
  const whole = new Uint8Array(
    chunks.reduce((sum, { length }) => sum + length, 0),
  );
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

/**
 * Returns bytes that share their memory with no others, so that a stream may take the memory. Returns a copy if the
 * given bytes share their memory.
 */
export function ownBytes<Memory extends ArrayBufferLike>(
  bytes: Uint8Array<Memory>,
): Uint8Array<Memory | ArrayBuffer> {
  return bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice();
}

/**
 * Returns a text with one character for each byte (ISO 8859-1), to search for ASCII. The engine searches a text with
 * special instructions, but a typed array byte by byte.
 */
export function byteText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

/** Returns the bytes of a text of {@linkcode byteText}. */
export function bytesOf(byteText: string): Uint8Array {
  return Buffer.from(byteText, "latin1");
}

/** Decodes a text of {@linkcode byteText} as UTF-8. */
export function utf8InByteText(text: string): string {
  return NOT_ASCII_REGEXP.test(text)
    ? Buffer.from(text, "latin1").toString("utf8")
    : text;
}

const NOT_ASCII_REGEXP = /[\x80-\xff]/;
