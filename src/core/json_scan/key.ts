const BACKSLASH = 0x5c;
const LETTER_A = 0x61;
const LETTER_U = 0x75;

/** What lies between the quotes of a checked JSON string. */
export interface StringInside {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/**
 * Whether a JSON string means `key`, however it is escaped. It looks at no more bytes than `key` needs.
 *
 * @param key Printable ASCII.
 */
export function spells(inside: StringInside, key: string): boolean {
  const { bytes, start, end } = inside;
  let position = start;
  for (let index = 0; index < key.length; index++) {
    if (unitAt(bytes, position) !== key.charCodeAt(index)) return false;
    position += sizeAt(bytes, position);
  }
  return position === end;
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
