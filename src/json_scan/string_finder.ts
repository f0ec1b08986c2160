import { KeptBytes, matchKey } from "./key.ts";
import { skipText, type TextBytes, textOf } from "./text.ts";

/** Which strings to find at one place of a JSON value. If the value there is a list, this applies to each element. */
export interface Place {
  /** True to find a string here; `in_list` to find it only in a list. */
  readonly wantsString?: true | "in_list";
  /** True when each object here, with its content, is a unit. */
  readonly isUnit?: true;
  /** Returns the place of a member of an object here. `name` is in lower case, because some parsers ignore case. */
  readonly member?: (name: string) => Place | undefined;
  /**
   * Replaces `member` when only one name has a place. The name is in lower case. A single name is found much faster.
   */
  readonly only?: { readonly name: string; readonly place: Place };
}

/** A string that was found. */
export interface FoundString {
  readonly place: Place;
  /** The string; `undefined` when it is too long or nested in too many lists. */
  readonly text: string | undefined;
  /** The number of the innermost unit around the string, from 1; 0 outside of units. */
  readonly unit: number;
}

/** The longest string that is kept, in bytes. */
const MAX_STRING_BYTES = 1024;

/** The deepest level that is searched. */
const MAX_DEPTH = 16;

/** An open container that is searched. */
interface Open {
  /** True for an object, false for a list. */
  readonly isObject: boolean;
  readonly place: Place;
  /** The unit around the container. */
  readonly unit: number;
  /** True when the next string is the name of a member. */
  expectsName: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
/**
 * Clears the bit in which braces and brackets differ. Outside of strings, no other byte of JSON then equals a bracket.
 */
const BRACKET_MASK = 0xff & ~0x20;

/**
 * Finds the strings at some places of a JSON value that arrives in chunks. It reads each member, even a duplicate, and
 * any escapes in the member's name. The value must be valid JSON.
 */
export class StringFinder {
  readonly #onString: (found: FoundString) => void;
  readonly #onUnitEnd: (unit: number) => void;
  #units = 0;
  readonly #open: Open[] = [];
  /** The number of open containers inside the innermost searched container. */
  #skipped = 0;
  /** The place of the next value; `undefined` where nothing is searched. */
  #place: Place | undefined;
  #unit = 0;
  #isInText = false;
  /** True when the last chunk ended with a backslash. */
  #isEscaped = false;
  readonly #text = new KeptBytes(MAX_STRING_BYTES);

  /**
   * @param place The place of the value.
   * @param onString Called for each string that is found, in order.
   * @param onUnitEnd Called at the end of each unit.
   */
  constructor(
    place: Place,
    onString: (found: FoundString) => void,
    onUnitEnd: (unit: number) => void = () => {},
  ) {
    this.#place = place;
    this.#onString = onString;
    this.#onUnitEnd = onUnitEnd;
  }

  /** Searches the next chunk of the value. */
  push(chunk: Uint8Array): void {
    const text = textOf(chunk);
    let position = 0;
    while (position < chunk.length) {
      position = this.#isInText
        ? this.#passText(text, position)
        : this.#passBytes(chunk, position);
    }
    this.#text.leave(chunk);
  }

  /** Skips to the end of a string, or of the chunk. */
  #passText(text: TextBytes, start: number): number {
    const { bytes } = text;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      return start + 1;
    }
    const position = skipText(text, start);
    if (position === bytes.length) return position;
    if (bytes[position] === QUOTE) this.#endText(bytes, position);
    else this.#isEscaped = bytes[position] === BACKSLASH;
    return position + 1;
  }

  /** Skips to the beginning of a string, or to the end of the chunk. */
  #passBytes(chunk: Uint8Array, start: number): number {
    for (let position = start; position < chunk.length; position++) {
      const byte = chunk[position] ?? 0;
      if (byte === QUOTE) {
        const only = this.#onlyName();
        const isWanted = only === undefined && this.#isWanted();
        const end = isWanted ? position : endOfShortText(chunk, position);
        if (end > position) {
          if (only !== undefined) {
            const inside = { bytes: chunk, start: position + 1, end };
            this.#place = matchKey(inside, only.name) && only.place;
          }
          position = end;
          continue;
        }
        this.#isInText = true;
        if (isWanted || only !== undefined) this.#text.begin(position + 1);
        return position + 1;
      }
      if ((byte & BRACKET_MASK) === OPEN_BRACKET) {
        if (this.#skipped > 0) this.#skipped++;
        else this.#openContainer(byte === OPEN_BRACE);
      } else if ((byte & BRACKET_MASK) === CLOSE_BRACKET) {
        if (this.#skipped > 0) this.#skipped--;
        else this.#closeContainer();
      } else if (byte === COMMA && this.#skipped === 0) this.#next();
      else if (byte === COLON && this.#skipped === 0) this.#beginValue();
    }
    return chunk.length;
  }

  get #innermost(): Open | undefined {
    return this.#open[this.#open.length - 1];
  }

  #isWanted(): boolean {
    if (this.#skipped > 0) return false;
    return this.#innermost?.expectsName === true ||
      this.#wantedPlace() !== undefined;
  }

  /** Returns the current place if a string there is wanted. */
  #wantedPlace(): Place | undefined {
    const place = this.#place;
    if (place?.wantsString !== "in_list") return place?.wantsString && place;
    return this.#innermost?.isObject === false ? place : undefined;
  }

  /** Returns the single wanted name, if a name is next. */
  #onlyName(): Place["only"] {
    if (this.#skipped > 0) return undefined;
    const innermost = this.#innermost;
    return innermost?.expectsName ? innermost.place.only : undefined;
  }

  #endText(chunk: Uint8Array, end: number): void {
    this.#isInText = false;
    if (!this.#isWanted()) return;
    const run = this.#text.end(chunk, end);
    const text = run && unescape(run.bytes.subarray(run.start, run.end));
    const innermost = this.#innermost;
    if (innermost?.expectsName) {
      this.#place = text === undefined
        ? undefined
        : memberAt(innermost.place, fold(text));
      return;
    }
    const place = this.#wantedPlace();
    if (place) this.#onString({ place, text, unit: this.#unit });
  }

  #beginValue(): void {
    const innermost = this.#innermost;
    if (innermost !== undefined) innermost.expectsName = false;
  }

  #next(): void {
    const innermost = this.#innermost;
    if (innermost === undefined) return;
    innermost.expectsName = innermost.isObject;
  }

  #openContainer(isObject: boolean): void {
    const place = this.#place;
    const { member, only } = place ?? {};
    if (
      place === undefined ||
      isObject && member === undefined && only === undefined
    ) {
      this.#skipped++;
      return;
    }
    if (this.#open.length === MAX_DEPTH) {
      this.#onString({ place, text: undefined, unit: this.#unit });
      this.#skipped++;
      return;
    }
    this.#open.push({
      isObject,
      place,
      unit: this.#unit,
      expectsName: isObject,
    });
    if (isObject && place.isUnit) this.#unit = ++this.#units;
  }

  #closeContainer(): void {
    const closed = this.#open.pop();
    this.#place = closed?.place;
    if (closed === undefined || closed.unit === this.#unit) return;
    this.#onUnitEnd(this.#unit);
    this.#unit = closed.unit;
  }
}

function memberAt({ member, only }: Place, name: string): Place | undefined {
  return only?.name === name ? only.place : member?.(name);
}

/** Folds a name to lower case, including the two characters beyond ASCII whose upper case is S or K. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** The length that most names and many values do not exceed, in bytes. */
const SHORT_TEXT_BYTES = 32;

/**
 * Returns the position of the closing quote of a short string without escapes. Returns `start` for any other string.
 *
 * @param start The position of the opening quote.
 */
function endOfShortText(chunk: Uint8Array, start: number): number {
  const last = Math.min(chunk.length - 1, start + SHORT_TEXT_BYTES);
  for (let position = start + 1; position <= last; position++) {
    const byte = chunk[position];
    if (byte === QUOTE) return position;
    if (byte === BACKSLASH) break;
  }
  return start;
}

const decoder = new TextDecoder();

function unescape(inside: Uint8Array): string {
  const text = decoder.decode(inside);
  return text.includes("\\") ? JSON.parse(`"${text}"`) : text;
}
