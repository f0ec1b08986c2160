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
