import type { ByteRun } from "./byte_span.ts";

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
      if (!isLetter(wanted) || (unit ^ wanted) !== CASE_BIT) return undefined;
      found = "other_case";
    }
    position += sizeAt(bytes, position);
  }
  return position === end ? found : undefined;
}

/** What the upper and the lower case of an ASCII letter differ in. */
const CASE_BIT = 0x20;

function isLetter(unit: number): boolean {
  const lower = unit | CASE_BIT;
  return lower >= 0x61 && lower <= 0x7a;
}

function sizeAt(bytes: Uint8Array, position: number): number {
  if (bytes[position] !== BACKSLASH) return 1;
  return bytes[position + 1] === LETTER_U ? 6 : 2;
}

/**
 * The UTF-16 code unit that the byte or the escape at `position` stands for; `undefined` for the escapes
 * b, f, n, r and t, whose control characters no key holds.
 */
function unitAt(bytes: Uint8Array, position: number): number | undefined {
  const byte = bytes[position];
  if (byte !== BACKSLASH) return byte;
  const letter = bytes[position + 1] ?? 0;
  if (letter === LETTER_U) return unitOfDigits(bytes, position + 2);
  return letter < LETTER_A ? letter : undefined;
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
