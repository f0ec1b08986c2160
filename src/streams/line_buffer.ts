/** Gathers the pieces of a line that comes in several. */
interface LineBuffer {
  /** Takes the next piece; it is copied. */
  append(piece: Uint8Array): void;
  /** How many bytes the line has so far. */
  length(): number;
  /** The line, valid until the next `append`; of one that is too long {@linkcode bothEnds}. */
  bytes(): Uint8Array;
  /** Makes room for the next line. */
  clear(): void;
}

/** How much {@linkcode bothEnds} leaves of each end. */
export const END_BYTES = 512;

/** A line is long, in bytes, where {@linkcode bothEnds} does not leave all of it. */
export const LONG_BYTES: number = 2 * END_BYTES;

/** A buffer that has grown past this is not kept for the lines to come. */
const KEPT_BYTES = 64 * 1024;

const NOTHING = new Uint8Array();

/** A buffer for lines of up to `maxBytes`. */
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

/** A copy of `bytes`: whole up to 1 KiB, else their first and last 512, joined. */
export function bothEnds(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length <= LONG_BYTES) return bytes.slice();
  const ends = new Uint8Array(LONG_BYTES);
  ends.set(bytes.subarray(0, END_BYTES));
  ends.set(bytes.subarray(-END_BYTES), END_BYTES);
  return ends;
}
