/** The separator of texts that a protocol joins into one. */
export const PARAGRAPH = "\n\n";

/** Joins several texts for a protocol that has only one text. A paragraph break separates the parts. */
export class Paragraphs {
  #hasText = false;
  #isApart = false;

  /** Starts a new part: a paragraph break will precede the next text. */
  part(): void {
    this.#isApart = true;
  }

  /** Returns `text`, which must not be empty, with a paragraph break before it if needed. */
  join(text: string): string {
    const joined = this.#hasText && this.#isApart ? PARAGRAPH + text : text;
    this.#hasText = true;
    this.#isApart = false;
    return joined;
  }
}
