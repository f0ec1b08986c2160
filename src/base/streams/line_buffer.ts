/** The number of bytes that {@linkcode bothEnds} keeps of each end. */
export const END_BYTES = 512;

/** The longest line that {@linkcode bothEnds} keeps whole, in bytes. */
export const LONG_BYTES: number = 2 * END_BYTES;

/** The largest buffer that is kept for the next lines, in bytes. */
const KEPT_BYTES = 64 * 1024;

const NOTHING = new Uint8Array();

/** Collects a line of up to `maxBytes` that arrives in several chunks. */
export class LineBuffer {
  readonly #maxBytes: number;
  #buffer = NOTHING;
  #used = 0;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The number of bytes so far. */
  get length(): number {
    return this.#length;
  }

  /**
   * The line, valid until the next `append`. If the line is too long, only its two ends, as from {@linkcode bothEnds}.
   */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#used);
  }

  /** Copies the next part of the line. */
  append(piece: Uint8Array): void {
    this.#length += piece.length;
    const isTooLong = this.#length > this.#maxBytes;
    const part = isTooLong ? bothEnds(piece) : piece;
    this.#grow(this.#used + part.length);
    this.#buffer.set(part, this.#used);
    this.#used += part.length;
    if (!isTooLong) return;
    this.#buffer = bothEnds(this.bytes);
    this.#used = this.#buffer.length;
  }

  /** Clears the buffer for the next line. */
  clear(): void {
    this.#length = 0;
    this.#used = 0;
    if (this.#buffer.length > KEPT_BYTES) this.#buffer = NOTHING;
  }

  #grow(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.length));
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}

/** Returns a copy of `bytes`: whole up to 1 KiB, else the first and the last 512 bytes, joined. */
export function bothEnds(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length <= LONG_BYTES) return bytes.slice();
  const ends = new Uint8Array(LONG_BYTES);
  ends.set(bytes.subarray(0, END_BYTES));
  ends.set(bytes.subarray(-END_BYTES), END_BYTES);
  return ends;
}
