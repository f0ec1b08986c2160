/** Stands between texts that a protocol shows as one though they are apart. */
export const PARAGRAPH = "\n\n";

/** Joins texts that a protocol shows as one: those that stand apart become paragraphs of their own. */
export class Paragraphs {
  #hasText = false;
  #isApart = false;

  /** Told that the next text stands apart from the ones before it. */
  part(): void {
    this.#isApart = true;
  }

  /** `text`, which must not be empty, as it continues what was joined so far. */
  join(text: string): string {
    const joined = this.#hasText && this.#isApart ? PARAGRAPH + text : text;
    this.#hasText = true;
    this.#isApart = false;
    return joined;
  }
}
