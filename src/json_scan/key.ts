const BACKSLASH = 0x5c;
const LETTER_A = 0x61;
const LETTER_U = 0x75;

/** How a JSON string matches a key: it is the same, or differs only in the case of letters. */
export type KeyMatch = "same" | "other_case";

/**
 * Compares a JSON string with `key`. Escapes in the string are resolved. Reads no more bytes than `key` needs.
 *
 * @param inside The bytes between the quotes of a valid string.
 * @param key Printable ASCII.
 * @returns `undefined` when the string does not match.
 */
export function matchKey(
  inside: ByteRun,
  key: string,
): KeyMatch | undefined {
  const { bytes, start, end } = inside;
  let found: KeyMatch = "same";
  let position = start;
  for (let index = 0; index < key.length; index++) {
    const unit = unitAt(bytes, position) ?? -1;
    const wanted = key.charCodeAt(index);
    if (unit !== wanted) {
      if (!isOtherCase(unit, wanted)) return undefined;
      found = "other_case";
    }
    position += sizeAt(bytes, position);
  }
  return position === end ? found : undefined;
}

/** The difference between the upper and the lower case of an ASCII letter. */
const CASE_BIT = 0x20;

/**
 * The two characters beyond ASCII whose other case is an ASCII letter. Some parsers, such as Go's, match such a
 * character with the letter.
 */
const LONG_S = 0x017f;
const KELVIN = 0x212a;

function isOtherCase(unit: number, wanted: number): boolean {
  const lower = wanted | CASE_BIT;
  if (unit === LONG_S) return lower === 0x73;
  if (unit === KELVIN) return lower === 0x6b;
  return lower >= 0x61 && lower <= 0x7a && (unit ^ wanted) === CASE_BIT;
}

/** The first bytes of the two characters in UTF-8. */
const LEAD_OF_LONG_S = 0xc5;
const LEAD_OF_KELVIN = 0xe2;

function sizeAt(bytes: Uint8Array, position: number): number {
  switch (bytes[position]) {
    case BACKSLASH:
      return bytes[position + 1] === LETTER_U ? 6 : 2;
    case LEAD_OF_LONG_S:
      return 2;
    case LEAD_OF_KELVIN:
      return 3;
    default:
      return 1;
  }
}

/**
 * Returns the UTF-16 code unit of the byte or escape at `position`. Returns `undefined` for the escapes b, f, n, r and
 * t, because no key contains control characters.
 */
function unitAt(bytes: Uint8Array, position: number): number | undefined {
  const byte = bytes[position];
  if (byte === LEAD_OF_LONG_S || byte === LEAD_OF_KELVIN) {
    return unitBeyondAscii(bytes, position);
  }
  if (byte !== BACKSLASH) return byte;
  const letter = bytes[position + 1] ?? 0;
  if (letter === LETTER_U) return unitOfDigits(bytes, position + 2);
  return letter < LETTER_A ? letter : undefined;
}

/** Returns the code unit of a character of two or three bytes. */
function unitBeyondAscii(bytes: Uint8Array, position: number): number {
  const [lead = 0, second = 0, third = 0] = bytes.subarray(
    position,
    position + 3,
  );
  return lead === LEAD_OF_LONG_S
    ? (lead & 0x1f) << 6 | (second & 0x3f)
    : (lead & 0x0f) << 12 | (second & 0x3f) << 6 | (third & 0x3f);
}

function unitOfDigits(bytes: Uint8Array, start: number): number {
  let unit = 0;
  for (let position = start; position < start + 4; position++) {
    unit = unit << 4 | hexValue(bytes[position] ?? 0);
  }
  return unit;
}

/**
 * Returns the value of a hexadecimal digit. The value of a letter, in both cases, is its lowest four bits plus nine.
 */
function hexValue(byte: number): number {
  return (byte & 0x0f) + (byte >> 6) * 9;
}

/** The position of a run of bytes: from `start` up to, not including, `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** A change of a document. */
export interface ByteEdit {
  readonly span: ByteSpan;
  /** The text that replaces the span. */
  readonly text: string;
}

/** A run of bytes, and the array that contains the run. */
export interface ByteRun extends ByteSpan {
  readonly bytes: Uint8Array;
}

const NOTHING = new Uint8Array();

/** A short run of bytes in a document that arrives in chunks. A long run is dropped. */
export class KeptBytes {
  readonly #maxBytes: number;
  /** The start of the run in the current chunk; `undefined` if there is no run, or if the run is too long. */
  #start: number | undefined;
  /** The bytes of the run in earlier chunks. */
  #earlier = NOTHING;

  /** @param maxBytes The maximum length of a run that is kept. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Begins a run at an offset in the current chunk. */
  begin(start: number): void {
    this.#start = start;
    this.#earlier = NOTHING;
  }

  /** Ends the current chunk, and copies the part of the run that lies in this chunk. */
  leave(chunk: Uint8Array): void {
    if (this.#start === undefined) return;
    const run = this.#take(chunk, chunk.length);
    this.#start = run === undefined ? undefined : 0;
    this.#earlier = run?.bytes.slice(run.start, run.end) ?? NOTHING;
  }

  /**
   * Ends the run before an offset in the current chunk.
   *
   * @returns The run. It is valid as long as the chunk is. `undefined` when the run was too long.
   */
  end(chunk: Uint8Array, end: number): ByteRun | undefined {
    const run = this.#take(chunk, end);
    this.#start = undefined;
    this.#earlier = NOTHING;
    return run;
  }

  #take(chunk: Uint8Array, end: number): ByteRun | undefined {
    const start = this.#start;
    if (start === undefined) return undefined;
    const earlier = this.#earlier.length;
    const length = earlier + end - start;
    if (length > this.#maxBytes) return undefined;
    if (earlier === 0) return { bytes: chunk, start, end };
    const bytes = new Uint8Array(length);
    bytes.set(this.#earlier);
    bytes.set(chunk.subarray(start, end), earlier);
    return { bytes, start: 0, end: length };
  }
}
