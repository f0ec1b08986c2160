import { BACKSLASH, LETTER_U } from "./json_bytes.ts";

/** What lies between the quotes of a checked JSON string. */
export interface StringInside {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** What the letter of a two-byte escape stands for (RFC 8259 section 7). */
const UNIT_BY_LETTER: ReadonlyMap<number, number> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
].map((
  [letter = "", unit = ""],
) => [letter.charCodeAt(0), unit.charCodeAt(0)]));

/**
 * Whether a JSON string means `key`, however it is escaped. It looks at no more bytes than `key` needs.
 *
 * @param key ASCII only.
 */
export function spells(inside: StringInside, key: string): boolean {
  const { bytes, start, end } = inside;
  let position = start;
  for (let index = 0; index < key.length; index++) {
    if (position >= end) return false;
    if (unitAt(bytes, position) !== key.charCodeAt(index)) return false;
    position += sizeAt(bytes, position);
  }
  return position === end;
}

function sizeAt(bytes: Uint8Array, position: number): number {
  if (bytes[position] !== BACKSLASH) return 1;
  return bytes[position + 1] === LETTER_U ? 6 : 2;
}

/** The UTF-16 code unit that the byte or the escape at `position` stands for. */
function unitAt(bytes: Uint8Array, position: number): number | undefined {
  const byte = bytes[position];
  if (byte !== BACKSLASH) return byte;
  const letter = bytes[position + 1] ?? 0;
  if (letter !== LETTER_U) return UNIT_BY_LETTER.get(letter);
  let unit = 0;
  for (let digit = position + 2; digit < position + 6; digit++) {
    unit = unit << 4 | hexValue(bytes[digit] ?? 0);
  }
  return unit;
}

/** The value of a hexadecimal digit: letters of both cases lie nine above their lowest four bits. */
function hexValue(byte: number): number {
  return (byte & 0x0f) + (byte >> 6) * 9;
}
