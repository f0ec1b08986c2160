/** Collects a line that arrives in several chunks. */
interface LineBuffer {
  /** Copies the next part of the line. */
  append(piece: Uint8Array): void;
  /** Returns the number of bytes so far. */
  length(): number;
  /** Returns the line, valid until the next `append`; for one that is too long, {@linkcode bothEnds} of it. */
  bytes(): Uint8Array;
  /** Clears the buffer for the next line. */
  clear(): void;
}

/** The number of bytes that {@linkcode bothEnds} keeps of each end. */
export const END_BYTES = 512;

/** The longest line that {@linkcode bothEnds} keeps whole, in bytes. */
export const LONG_BYTES: number = 2 * END_BYTES;

/** The largest buffer that is kept for the next lines, in bytes. */
const KEPT_BYTES = 64 * 1024;

const NOTHING = new Uint8Array();

/** Creates a buffer for lines of up to `maxBytes`. */
export function createLineBuffer(maxBytes: number): LineBuffer {
  let buffer = NOTHING;
  let used = 0;
  let length = 0;

  function grow(needed: number): void {
    if (needed <= buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * buffer.length));
    larger.set(buffer.subarray(0, used));
    buffer = larger;
  }

  return {
    append(piece) {
      length += piece.length;
      const isTooLong = length > maxBytes;
      const part = isTooLong ? bothEnds(piece) : piece;
      grow(used + part.length);
      buffer.set(part, used);
      used += part.length;
      if (!isTooLong) return;
      buffer = bothEnds(buffer.subarray(0, used));
      used = buffer.length;
    },
    length: () => length,
    bytes: () => buffer.subarray(0, used),
    clear() {
      length = 0;
      used = 0;
      if (buffer.length > KEPT_BYTES) buffer = NOTHING;
    },
  };
}

/** Returns a copy of `bytes`: whole up to 1 KiB, else their first and last 512, joined. */
export function bothEnds(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length <= LONG_BYTES) return bytes.slice();
  const ends = new Uint8Array(LONG_BYTES);
  ends.set(bytes.subarray(0, END_BYTES));
  ends.set(bytes.subarray(-END_BYTES), END_BYTES);
  return ends;
}
