import {
  BEGIN_ARRAY,
  BEGIN_NAME,
  BEGIN_OBJECT,
  BEGIN_VALUE,
  COLON,
  END,
  END_CONTAINER,
  END_INNER_NAME,
  END_NAME,
  END_NUMBER,
  END_VALUE,
  FIRST_ELEMENT,
  FIRST_NAME,
  FIRST_STEP,
  isBeforeDocument,
  NEXT,
  NEXT_ELEMENT,
  NEXT_MEMBER,
  OUTER_COLON,
  OUTER_FIRST_NAME,
  OUTER_NAME_TEXT,
  OUTER_NEXT,
  OUTER_VALUE_HERE,
  TEXT_STATES,
  VERY_START,
} from "./grammar.ts";
import { failAt, failEmpty, failEnd, JsonScanError } from "./scan_error.ts";
import { skipText, textOf } from "./text.ts";

const BITS_PER_WORD = 32;
const INITIAL_WORDS = 32;

/** A stack of booleans of any depth, one bit each; it allocates nothing for the first 32. */
export class BitStack {
  /** The uppermost bits, the top lowest: 1 to 32 of them unless the stack is empty. */
  #upper = 0;
  /** All bits below `#upper`, in full words. */
  #lower: Int32Array | undefined;
  #size = 0;

  /** How many booleans are on the stack. */
  get size(): number {
    return this.#size;
  }

  /** The boolean on top; `false` when there is none. */
  get top(): boolean {
    return (this.#upper & 1) === 1;
  }

  /** Puts `bit` on top. */
  push(bit: boolean): void {
    if (this.#isWordBorder()) this.#spill();
    this.#upper = this.#upper << 1 | (bit ? 1 : 0);
    this.#size++;
  }

  /** Takes the top away; there must be one. */
  pop(): void {
    this.#size--;
    this.#upper >>>= 1;
    if (this.#isWordBorder()) {
      this.#upper = this.#lower?.[this.#size / BITS_PER_WORD - 1] ?? 0;
    }
  }

  #isWordBorder(): boolean {
    return this.#size % BITS_PER_WORD === 0 && this.#size > 0;
  }

  #spill(): void {
    const index = this.#size / BITS_PER_WORD - 1;
    const old = this.#lower;
    if (old === undefined || index === old.length) {
      this.#lower = new Int32Array(old ? old.length * 2 : INITIAL_WORDS);
      if (old) this.#lower.set(old);
    }
    if (this.#lower) this.#lower[index] = this.#upper;
  }
}

/** What happens in the outermost object of a document. */
type JsonEvent =
  | "name_begins"
  | "name_ends"
  | "value_begins"
  | "value_ends"
  | "object_ends";

/**
 * Walks through a JSON object that comes in pieces, and checks every byte of it. Depth costs one bit a level and no
 * recursion.
 */
export class JsonWalker {
  #text = NOTHING;
  /** How long the current piece is; its memory may be gone when the next one comes. */
  #length = 0;
  /** How many bytes came in earlier pieces. */
  #before = 0;
  /** Where to go on, in the current piece. */
  #position = 0;
  #state = VERY_START;
  /** The containers around the current place: `true` for objects. */
  readonly #open = new BitStack();
  #at = 0;
  #values = 0;
  #depth = 0;

  /** How many objects, arrays and members there have been so far. */
  get values(): number {
    return this.#values;
  }

  /** How many levels of objects and arrays there have been so far. */
  get depth(): number {
    return this.#depth;
  }

  /** Where the last event was, in the current piece: a beginning at the first byte, an end behind the last. */
  get at(): number {
    return this.#at;
  }

  /** Where the last event was in the document, in bytes. */
  get offset(): number {
    return this.#before + this.#at;
  }

  /** Takes the next piece, when {@linkcode JsonWalker.next} has gone through the last, which is not looked at again. */
  feed(bytes: Uint8Array): void {
    this.#before += this.#length;
    this.#length = bytes.length;
    this.#text = textOf(bytes);
    this.#position = 0;
  }

  /**
   * Goes on to the next event.
   *
   * @returns `undefined` when there is none before the end of the piece.
   * @throws {JsonScanError} With `syntax`, `encoding` or `not_object`.
   */
  next(): JsonEvent | undefined {
    for (;;) {
      const step = this.#advance();
      if (step === undefined) return undefined;
      const event = this.#take(step);
      if (event !== undefined) return event;
    }
  }

  /**
   * Says that nothing more comes.
   *
   * @throws {JsonScanError} With `syntax`, when something is missing.
   */
  finish(): void {
    if (this.#state === END) return;
    const length = this.#before + this.#length;
    if (isBeforeDocument(this.#state)) failEmpty(length);
    failEnd(length);
  }

  /** From byte to byte, up to the next step or the end of the piece. */
  #advance(): number | undefined {
    // V8 reads an import from memory at every use.
    const [table, firstStep, textStates] = [NEXT, FIRST_STEP, TEXT_STATES];
    const text = this.#text;
    const { bytes } = text;
    let state = this.#state;
    let position = this.#position;
    let step: number | undefined;
    for (;;) {
      if (state < textStates) position = skipText(text, position);
      if (position >= bytes.length) break;
      const next = table[state << 8 | (bytes[position] ?? 0)] ?? 0;
      if (next >= firstStep) {
        step = next;
        break;
      }
      state = next;
      position++;
    }
    this.#state = state;
    this.#position = position;
    return step;
  }

  #take(step: number): JsonEvent | undefined {
    switch (step) {
      case BEGIN_OBJECT:
        this.#begin(true);
        this.#state = this.#open.size === 1 ? OUTER_FIRST_NAME : FIRST_NAME;
        return undefined;
      case BEGIN_ARRAY:
        this.#begin(false);
        this.#state = FIRST_ELEMENT;
        return undefined;
      case END_INNER_NAME:
        this.#state = COLON;
        this.#values++;
        this.#position++;
        return undefined;
      case END_CONTAINER:
        return this.#endContainer();
      case BEGIN_NAME:
        this.#state = OUTER_NAME_TEXT;
        this.#values++;
        this.#at = this.#position++;
        return "name_begins";
      case END_NAME:
        this.#state = OUTER_COLON;
        this.#at = ++this.#position;
        return "name_ends";
      case BEGIN_VALUE:
        this.#state = OUTER_VALUE_HERE;
        this.#at = this.#position;
        return "value_begins";
      case END_VALUE:
        this.#state = OUTER_NEXT;
        this.#at = ++this.#position;
        return "value_ends";
      case END_NUMBER:
        this.#state = OUTER_NEXT;
        this.#at = this.#position;
        return "value_ends";
      default:
        return this.#fail();
    }
  }

  #begin(isObject: boolean): void {
    this.#open.push(isObject);
    if (this.#open.size > this.#depth) this.#depth = this.#open.size;
    this.#values++;
    this.#position++;
  }

  #endContainer(): JsonEvent | undefined {
    this.#open.pop();
    this.#at = ++this.#position;
    switch (this.#open.size) {
      case 0:
        this.#state = END;
        return "object_ends";
      case 1:
        this.#state = OUTER_NEXT;
        return "value_ends";
      default:
        this.#state = this.#open.top ? NEXT_MEMBER : NEXT_ELEMENT;
        return undefined;
    }
  }

  #fail(): never {
    failAt({
      state: this.#state,
      byte: this.#text.bytes[this.#position] ?? 0,
      offset: this.#before + this.#position,
    });
  }
}

const NOTHING = textOf(new Uint8Array());

/** Tells whether a JSON object that goes by came to its end. */
export class JsonEnd {
  readonly #walker = new JsonWalker();
  #isObject = true;

  /** Sees the next bytes; keeps none of them and never throws. */
  push(bytes: Uint8Array): void {
    if (!this.#isObject) return;
    this.#walker.feed(bytes);
    this.#isObject = this.#keepsTo(() => {
      while (this.#walker.next() !== undefined);
    });
  }

  /**
   * Whether what has come is only the beginning of an object, or nothing at all. What is no JSON object is never
   * cut: nobody knows where it ends.
   */
  isCut(): boolean {
    return this.#isObject && !this.#keepsTo(() => this.#walker.finish());
  }

  #keepsTo(check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (error instanceof JsonScanError) return false;
      throw error;
    }
  }
}
