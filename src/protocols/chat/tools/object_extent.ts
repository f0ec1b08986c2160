const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** What a string is skipped to. */
const STRING_STOP_REGEXP = /["\\]/g;

/**
 * Finds where a JSON object ends whose text comes in pieces. It counts brackets and checks nothing else: whether
 * the text is JSON at all is for a parser to say.
 */
export class ObjectExtent {
  #state: "before" | "inside" | "closed" | "other" = "before";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Whether the object has come to its end. */
  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Whether the text is no object: it began with something else than a brace. */
  get isOther(): boolean {
    return this.#state === "other";
  }

  /**
   * Takes the next piece.
   *
   * @returns How many of its UTF-16 code units belong to the object, or to what came in place of one.
   */
  push(piece: string): number {
    if (this.#state === "closed") return 0;
    if (this.#state === "other") return piece.length;
    const start = this.#state === "before" ? piece.search(/\S/) : 0;
    if (start < 0) return piece.length;
    if (this.#state === "before") {
      const isObject = piece.charCodeAt(start) === OPEN_BRACE;
      this.#state = isObject ? "inside" : "other";
      if (!isObject) return piece.length;
    }
    return this.#scan(piece, start);
  }

  #scan(piece: string, start: number): number {
    for (let at = start; at < piece.length; at++) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        continue;
      }
      if (this.#isInString) at = skipString(piece, at);
      this.#take(piece.charCodeAt(at));
      if (this.#state === "closed") return at + 1;
    }
    return piece.length;
  }

  /** Takes a character that is not escaped. */
  #take(code: number): void {
    if (this.#isInString) {
      if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
      return;
    }
    switch (code) {
      case QUOTE:
        this.#isInString = true;
        return;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        this.#depth++;
        return;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (--this.#depth === 0) this.#state = "closed";
    }
  }
}

/** The place of the next character of a string that means something; the text's length where there is none. */
function skipString(text: string, from: number): number {
  STRING_STOP_REGEXP.lastIndex = from;
  return STRING_STOP_REGEXP.exec(text)?.index ?? text.length;
}
