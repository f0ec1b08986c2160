const BACKSLASH = 0x5c;
const LETTER_A = 0x61;
const LETTER_U = 0x75;

/** How a JSON string may be like a key: the same, or the same but for the case of letters. */
export type Likeness = "same" | "other_case";

/**
 * Whether a JSON string means `key`, however it is escaped. It looks at no more bytes than `key` needs.
 *
 * @param inside What lies between the quotes of a checked string.
 * @param key Printable ASCII.
 * @returns `undefined` when it means something else.
 */
export function likeness(
  inside: ByteRun,
  key: string,
): Likeness | undefined {
  const { bytes, start, end } = inside;
  let found: Likeness = "same";
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

/** What the upper and the lower case of an ASCII letter differ in. */
const CASE_BIT = 0x20;

/** Beyond ASCII, two characters have an ASCII letter as another case; parsers such as that of Go know it. */
const LONG_S = 0x017f;
const KELVIN = 0x212a;

function isOtherCase(unit: number, wanted: number): boolean {
  const lower = wanted | CASE_BIT;
  if (unit === LONG_S) return lower === 0x73;
  if (unit === KELVIN) return lower === 0x6b;
  return lower >= 0x61 && lower <= 0x7a && (unit ^ wanted) === CASE_BIT;
}

/** The first of the bytes of UTF-8 that the two have. */
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
 * The UTF-16 code unit that the byte or the escape at `position` stands for; `undefined` for the escapes
 * b, f, n, r and t, whose control characters no key holds.
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

/** The unit of a character of two or three bytes. */
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

/** The value of a hexadecimal digit: letters of both cases lie nine above their lowest four bits. */
function hexValue(byte: number): number {
  return (byte & 0x0f) + (byte >> 6) * 9;
}

/** Where a run of bytes lies: from `start` up to, not including, `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** A run of bytes, with those around it. */
export interface ByteRun extends ByteSpan {
  readonly bytes: Uint8Array;
}

const NOTHING = new Uint8Array();

/** A short run of bytes in a document that comes in pieces; a long one is let go. */
export class KeptBytes {
  readonly #maxBytes: number;
  /** Where the run began in the current piece; `undefined` while there is none, or when it has become too long. */
  #start: number | undefined;
  /** What came of it in earlier pieces. */
  #earlier = NOTHING;

  /** @param maxBytes A longer run is let go. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** A run begins, at an offset in the current piece. */
  begin(start: number): void {
    this.#start = start;
    this.#earlier = NOTHING;
  }

  /** The current piece ends; its bytes need not last. */
  leave(piece: Uint8Array): void {
    if (this.#start === undefined) return;
    const run = this.#take(piece, piece.length);
    this.#start = run === undefined ? undefined : 0;
    this.#earlier = run?.bytes.slice(run.start, run.end) ?? NOTHING;
  }

  /**
   * The run ends, before an offset in the current piece.
   *
   * @returns Where it is, for as long as the piece is there; `undefined` when it was too long.
   */
  end(piece: Uint8Array, end: number): ByteRun | undefined {
    const run = this.#take(piece, end);
    this.#start = undefined;
    this.#earlier = NOTHING;
    return run;
  }

  #take(piece: Uint8Array, end: number): ByteRun | undefined {
    const start = this.#start;
    if (start === undefined) return undefined;
    const earlier = this.#earlier.length;
    const length = earlier + end - start;
    if (length > this.#maxBytes) return undefined;
    if (earlier === 0) return { bytes: piece, start, end };
    const bytes = new Uint8Array(length);
    bytes.set(this.#earlier);
    bytes.set(piece.subarray(start, end), earlier);
    return { bytes, start: 0, end: length };
  }
}
