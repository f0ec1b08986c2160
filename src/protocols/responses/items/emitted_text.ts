/** So much of what was said last is held against the whole text, in UTF-16 code units. */
const TAIL_LENGTH = 64;

/** Knows how much of a text has come in pieces, and keeps no more of it than its last words. */
export class EmittedText {
  #length = 0;
  #tail = "";

  /** Takes a piece that was passed on. */
  add(piece: string): void {
    this.#length += piece.length;
    this.#tail = (this.#tail + piece).slice(-TAIL_LENGTH);
  }

  /**
   * What of the whole text has not come in pieces.
   *
   * @returns Nothing where the whole is another text than that of the pieces: what was said stays said, and two
   * halves of different texts would be a third.
   */
  missingFrom(whole: string): string {
    const tailStart = this.#length - this.#tail.length;
    return whole.startsWith(this.#tail, tailStart)
      ? whole.slice(this.#length)
      : "";
  }
}
