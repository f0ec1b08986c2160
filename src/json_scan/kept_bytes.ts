import type { ByteRun } from "./byte_span.ts";

const NOTHING = new Uint8Array();

/** A short run of bytes in a document that comes in pieces; a long one is let go. */
export class KeptBytes {
  readonly #maxBytes: number;
  /** Where the run began in the current piece; `undefined` while there is none, or when it has become too long. */
  #start: number | undefined;
  /** What came of it in earlier pieces. */
  #earlier = NOTHING;

  /** @param maxBytes A longer run is let go. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** A run begins, at an offset in the current piece. */
  begin(start: number): void {
    this.#start = start;
    this.#earlier = NOTHING;
  }

  /** The current piece ends; its bytes need not last. */
  leave(piece: Uint8Array): void {
    if (this.#start === undefined) return;
    const run = this.#take(piece, piece.length);
    this.#start = run === undefined ? undefined : 0;
    this.#earlier = run?.bytes.slice(run.start, run.end) ?? NOTHING;
  }

  /**
   * The run ends, before an offset in the current piece.
   *
   * @returns Where it is, for as long as the piece is there; `undefined` when it was too long.
   */
  end(piece: Uint8Array, end: number): ByteRun | undefined {
    const run = this.#take(piece, end);
    this.#start = undefined;
    this.#earlier = NOTHING;
    return run;
  }

  #take(piece: Uint8Array, end: number): ByteRun | undefined {
    const start = this.#start;
    if (start === undefined) return undefined;
    const earlier = this.#earlier.length;
    const length = earlier + end - start;
    if (length > this.#maxBytes) return undefined;
    if (earlier === 0) return { bytes: piece, start, end };
    const bytes = new Uint8Array(length);
    bytes.set(this.#earlier);
    bytes.set(piece.subarray(start, end), earlier);
    return { bytes, start: 0, end: length };
  }
}
