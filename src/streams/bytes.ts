import { Buffer } from "node:buffer";

/**
 * Many bytes in pieces, as they came. In one array they would be a copy, and one that touches fresh memory, which costs
 * more than all else about them.
 */
export class LongBytes {
  /** In their order; nobody may change them. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  /** How many bytes there are. */
  readonly length: number;

  constructor(pieces: readonly Uint8Array<ArrayBuffer>[]) {
    this.pieces = pieces;
    this.length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  /** Those from one place to another, in the same memory. */
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

  /** All in one array: a copy, unless they are in one piece. */
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

  /** Gives their memory back at once; V8 takes its time, and works hard to find it. Nobody may read them any more. */
  free(): void {
    for (const { buffer } of this.pieces) {
      if (!buffer.detached) buffer.transfer(0);
    }
  }
}

/** Chunks as one: a copy, but for a chunk that is alone. */
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
 * Bytes as a text with one character for each (ISO 8859-1), in which ASCII can be searched for: the engine searches
 * texts with instructions made for that, but a typed array byte by byte.
 */
export function byteText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

/** The bytes that {@linkcode byteText} makes this text of. */
export function bytesOf(byteText: string): Uint8Array {
  return Buffer.from(byteText, "latin1");
}

/** What bytes say in UTF-8 that are given as {@linkcode byteText} makes them. */
export function utf8InByteText(text: string): string {
  return NOT_ASCII_REGEXP.test(text)
    ? Buffer.from(text, "latin1").toString("utf8")
    : text;
}

const NOT_ASCII_REGEXP = /[\x80-\xff]/;
