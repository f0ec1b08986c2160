import {
  AFTER_MARK,
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
  MEMBER_TEXT,
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

/** A stack of booleans of any depth, one bit each. The first 32 need no allocation. */
export class BitStack {
  /** The uppermost 1 to 32 booleans, the top of the stack in the lowest bit; none when the stack is empty. */
  #upper = 0;
  /** All bits below `#upper`, in full words. */
  #lower: Int32Array | undefined;
  #size = 0;

  /** The number of booleans on the stack. */
  get size(): number {
    return this.#size;
  }

  /** The boolean on top; `false` when the stack is empty. */
  get top(): boolean {
    return (this.#upper & 1) === 1;
  }

  /** Pushes `bit`. */
  push(bit: boolean): void {
    if (this.#isWordBorder()) this.#spill();
    this.#upper = this.#upper << 1 | (bit ? 1 : 0);
    this.#size++;
  }

  /** Removes the top; the stack must not be empty. */
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

/**
 * An event in the outermost object of a document. An element is an object in a list, and the list is the value of an
 * outermost member. `inner_name_ends` comes after a name that may be an element's own `content`, or a deeper
 * `cache_control` or `prompt_cache_breakpoint`. `skip_ends` comes at the end of the container that
 * {@linkcode JsonWalker.skip} awaits.
 */
export type JsonEvent =
  | "name_begins"
  | "name_ends"
  | "value_begins"
  | "value_ends"
  | "element_begins"
  | "element_ends"
  | "inner_name_ends"
  | "skip_ends"
  | "object_ends";

/** Returns true when a name may be one that {@linkcode JsonEvent} reports: it ends in `ent`, `int` or `ol`. */
function isReported(
  bytes: Uint8Array,
  end: number,
  isOwn: boolean,
): boolean {
  switch (bytes[end - 1]) {
    case LETTER_T:
      return bytes[end - 2] === LETTER_N &&
        (isOwn || bytes[end - 3] === LETTER_I);
    case LETTER_L:
      return bytes[end - 2] === LETTER_O;
    default:
      return false;
  }
}

const LETTER_I = 0x69;
const LETTER_L = 0x6c;
const LETTER_N = 0x6e;
const LETTER_O = 0x6f;
const LETTER_T = 0x74;

/** The number of open containers at an element's own members: the outermost object, the list and the element. */
const IN_ELEMENT = 3;

/**
 * Walks through a JSON object that arrives in chunks, and checks each byte. Each level of depth costs one bit, without
 * recursion.
 */
export class JsonWalker {
  #text = NOTHING;
  /** The length of the current chunk. The chunk's memory may be freed before the next chunk arrives. */
  #length = 0;
  /** The number of bytes in earlier chunks. */
  #before = 0;
  /** The position of the next byte, in the current chunk. */
  #position = 0;
  #state = VERY_START;
  /** The open containers: `true` for objects. */
  readonly #open = new BitStack();
  #at = 0;
  #values = 0;
  #depth = 0;
  /** The position after the last name of an element's own member, in the document. */
  #ownNameEnd = 0;
  /** The number of open containers at which an awaited container ends; 0 when none is awaited. */
  #skipSize = 0;
  #marks = 0;

  /** The number of inner members so far whose text begins with the mark of the gateway's own seals. */
  get marks(): number {
    return this.#marks;
  }

  /** The number of objects, arrays and members so far. */
  get values(): number {
    return this.#values;
  }

  /** The number of nested levels of objects and arrays so far. */
  get depth(): number {
    return this.#depth;
  }

  /**
   * The position of the last event, in the current chunk. For a beginning, this is the first byte; for an end, the byte
   * after it.
   */
  get at(): number {
    return this.#at;
  }

  /** The position of the last event in the document, in bytes. */
  get offset(): number {
    return this.#before + this.#at;
  }

  /** Takes the next chunk, once {@linkcode JsonWalker.next} has returned `undefined` for the last chunk. */
  feed(bytes: Uint8Array): void {
    this.#before += this.#length;
    this.#length = bytes.length;
    this.#text = textOf(bytes);
    this.#position = 0;
  }

  /**
   * Returns the next event.
   *
   * @returns `undefined` at the end of the chunk.
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

  /** After `inner_name_ends`, awaits the end of the member's value. The value must be a container. */
  skip(): void {
    this.#skipSize = this.#open.size;
  }

  /** The position after the last name of an element's own member, in the document. */
  get ownNameEnd(): number {
    return this.#ownNameEnd;
  }

  /**
   * Ends the document.
   *
   * @throws {JsonScanError} With `syntax`, when the document is incomplete.
   */
  finish(): void {
    if (this.#state === END) return;
    const length = this.#before + this.#length;
    if (isBeforeDocument(this.#state)) failEmpty(length);
    failEnd(length);
  }

  /** Reads bytes up to the next step or the end of the chunk. */
  #advance(): number | undefined {
    // Copies of imports, because V8 reads an import from memory at each use.
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
      case BEGIN_OBJECT: {
        const isElement = this.#isInOuterList();
        this.#at = this.#position;
        this.#begin(true);
        this.#state = this.#open.size === 1 ? OUTER_FIRST_NAME : FIRST_NAME;
        return isElement ? "element_begins" : undefined;
      }
      case BEGIN_ARRAY:
        this.#begin(false);
        this.#state = FIRST_ELEMENT;
        return undefined;
      case END_INNER_NAME:
        return this.#endInnerName();
      case END_CONTAINER:
        return this.#endContainer();
      case AFTER_MARK:
        this.#state = MEMBER_TEXT;
        this.#position++;
        this.#marks++;
        return undefined;
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
        if (this.#open.size === this.#skipSize) {
          this.#skipSize = 0;
          return "skip_ends";
        }
        return this.#isInOuterList() ? "element_ends" : undefined;
    }
  }

  #endInnerName(): JsonEvent | undefined {
    this.#state = COLON;
    this.#values++;
    const end = this.#position++;
    this.#at = this.#position;
    const isOwn = this.#open.size === IN_ELEMENT;
    if (isOwn) this.#ownNameEnd = this.offset;
    return isReported(this.#text.bytes, end, isOwn)
      ? "inner_name_ends"
      : undefined;
  }

  #isInOuterList(): boolean {
    return this.#open.size === IN_ELEMENT - 1 && !this.#open.top;
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

/** Detects a JSON object that is incomplete. */
export class JsonEnd {
  readonly #walker = new JsonWalker();
  #isObject = true;

  /** Reads the next bytes. It keeps no bytes and never throws. */
  push(bytes: Uint8Array): void {
    if (!this.#isObject) return;
    this.#walker.feed(bytes);
    this.#isObject = this.#keepsTo(() => {
      while (this.#walker.next() !== undefined);
    });
  }

  /**
   * Returns true when the bytes are an incomplete object, or when there were no bytes. Returns false for bytes that are
   * not a JSON object, because their end is unknown.
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
