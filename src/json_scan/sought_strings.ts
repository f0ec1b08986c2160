import { KeptBytes, likeness } from "./key.ts";
import { skipText, type TextBytes, textOf } from "./text.ts";

/** What is sought at one place of a JSON value. A list stands for each of its elements. */
export interface Place {
  /** Whether a string here is sought; `in_list`: only where it stands in a list. */
  readonly seeks?: true | "in_list";
  /** Whether each object here is a unit of its own, with all that stands in it. */
  readonly isUnit?: true;
  /** Where to go on in the members of an object here; names come in lower case, since some parsers take any case. */
  readonly member?: (name: string) => Place | undefined;
  /** The same for one name, in lower case, which is looked up much faster; with it there is no `member`. */
  readonly only?: { readonly name: string; readonly place: Place };
}

/** A string that was sought. */
export interface SoughtString {
  readonly place: Place;
  /** `undefined` for one that is too long, or stands in too many lists. */
  readonly text: string | undefined;
  /** The innermost unit around it, counted from 1; 0 outside of units. */
  readonly unit: number;
}

/** Of a longer string nothing is kept. */
const MAX_STRING_BYTES = 1024;

/** What is nested more deeply is not looked into. */
const MAX_DEPTH = 16;

/** A container around the current place that is looked into. */
interface Open {
  /** What its elements or members are. */
  readonly isObject: boolean;
  readonly place: Place;
  /** The unit around it. */
  readonly unit: number;
  /** Whether a string comes next that is the name of a member. */
  expectsName: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
/** Braces are brackets but for this bit, and nothing else in JSON outside of strings is. */
const BRACKET_MASK = 0xff & ~0x20;

/**
 * Finds the strings at some places within a JSON value that comes in pieces. It sees every member, of those that
 * stand twice as well, however their names are escaped. What it is given must be valid JSON already.
 */
export class SoughtStrings {
  readonly #onString: (found: SoughtString) => void;
  readonly #onUnitEnd: (unit: number) => void;
  #units = 0;
  readonly #open: Open[] = [];
  /** How many containers are open within the innermost that is looked into. */
  #skipped = 0;
  /** Where the next value stands; `undefined` where nothing is sought. */
  #place: Place | undefined;
  #unit = 0;
  #isInText = false;
  /** Whether the piece before ended with a backslash. */
  #isEscaped = false;
  readonly #text = new KeptBytes(MAX_STRING_BYTES);

  /**
   * @param place What is sought in the value.
   * @param onString Called for every string that was found, in their order.
   * @param onUnitEnd Called at the end of every unit.
   */
  constructor(
    place: Place,
    onString: (found: SoughtString) => void,
    onUnitEnd: (unit: number) => void = () => {},
  ) {
    this.#place = place;
    this.#onString = onString;
    this.#onUnitEnd = onUnitEnd;
  }

  /** Looks through the next piece of the value. */
  push(piece: Uint8Array): void {
    const text = textOf(piece);
    let position = 0;
    while (position < piece.length) {
      position = this.#isInText
        ? this.#passText(text, position)
        : this.#passBytes(piece, position);
    }
    this.#text.leave(piece);
  }

  /** Goes on to the end of a string, or of the piece. */
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

  /** Goes on to the beginning of a string, or to the end of the piece. */
  #passBytes(piece: Uint8Array, start: number): number {
    for (let position = start; position < piece.length; position++) {
      const byte = piece[position] ?? 0;
      if (byte === QUOTE) {
        const only = this.#onlyName();
        const isSought = only === undefined && this.#isSought();
        const end = isSought ? position : endOfShortText(piece, position);
        if (end > position) {
          if (only !== undefined) {
            const inside = { bytes: piece, start: position + 1, end };
            this.#place = likeness(inside, only.name) && only.place;
          }
          position = end;
          continue;
        }
        this.#isInText = true;
        if (isSought || only !== undefined) this.#text.begin(position + 1);
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
    return piece.length;
  }

  get #innermost(): Open | undefined {
    return this.#open[this.#open.length - 1];
  }

  #isSought(): boolean {
    if (this.#skipped > 0) return false;
    return this.#innermost?.expectsName === true || this.#seeks() !== undefined;
  }

  /** The place of the current value, where a string there is sought. */
  #seeks(): Place | undefined {
    const place = this.#place;
    if (place?.seeks !== "in_list") return place?.seeks && place;
    return this.#innermost?.isObject === false ? place : undefined;
  }

  /** The one name that is looked for, if a name comes next. */
  #onlyName(): Place["only"] {
    if (this.#skipped > 0) return undefined;
    const innermost = this.#innermost;
    return innermost?.expectsName ? innermost.place.only : undefined;
  }

  #endText(piece: Uint8Array, end: number): void {
    this.#isInText = false;
    if (!this.#isSought()) return;
    const run = this.#text.end(piece, end);
    const text = run && unescape(run.bytes.subarray(run.start, run.end));
    const innermost = this.#innermost;
    if (innermost?.expectsName) {
      this.#place = text === undefined
        ? undefined
        : memberAt(innermost.place, fold(text));
      return;
    }
    const place = this.#seeks();
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

/** In lower case, and with S and K for the two other characters that have them as their upper case. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Most names and many values are no longer than this, in bytes. */
const SHORT_TEXT_BYTES = 32;

/**
 * The closing quote of a short string without escapes.
 *
 * @param start Of its opening quote, which is given back where the string is not such a one.
 */
function endOfShortText(piece: Uint8Array, start: number): number {
  const last = Math.min(piece.length - 1, start + SHORT_TEXT_BYTES);
  for (let position = start + 1; position <= last; position++) {
    const byte = piece[position];
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
