import { failSyntax } from "./scan_error.ts";
import { skipString } from "./string.ts";
import { byteAt, type JsonText } from "./text.ts";

const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;

/**
 * Checks one string, number, `true`, `false` or `null`.
 *
 * @param start Offset of its first byte.
 * @returns The offset behind it.
 * @throws {JsonScanError} With `syntax` or `encoding`.
 */
export function skipScalar(text: JsonText, start: number): number {
  switch (byteAt(text.bytes, start)) {
    case QUOTE:
      return skipString(text, start);
    case LETTER_T:
      return skipLiteral(text.bytes, start, "true");
    case LETTER_F:
      return skipLiteral(text.bytes, start, "false");
    case LETTER_N:
      return skipLiteral(text.bytes, start, "null");
    default:
      return skipNumber(text.bytes, start);
  }
}

function skipLiteral(
  bytes: Uint8Array,
  start: number,
  literal: string,
): number {
  for (let index = 1; index < literal.length; index++) {
    if (byteAt(bytes, start + index) !== literal.charCodeAt(index)) {
      failSyntax(bytes, start + index);
    }
  }
  return start + literal.length;
}

function skipNumber(bytes: Uint8Array, start: number): number {
  const first = byteAt(bytes, start) === MINUS ? start + 1 : start;
  const isZero = byteAt(bytes, first) === DIGIT_0;
  const end = isZero ? first + 1 : skipDigits(bytes, first);
  const next = byteAt(bytes, end);
  return next === POINT || isExponent(next) ? skipFraction(bytes, end) : end;
}

function skipFraction(bytes: Uint8Array, start: number): number {
  const hasPoint = byteAt(bytes, start) === POINT;
  const end = hasPoint ? skipDigits(bytes, start + 1) : start;
  if (!isExponent(byteAt(bytes, end))) return end;
  const sign = byteAt(bytes, end + 1);
  const isSigned = sign === PLUS || sign === MINUS;
  return skipDigits(bytes, isSigned ? end + 2 : end + 1);
}

function isExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45;
}

/** Skips one digit or more. */
function skipDigits(bytes: Uint8Array, start: number): number {
  let position = start;
  while (position < bytes.length && isDigit(bytes[position] ?? 0)) position++;
  if (position === start) failSyntax(bytes, start);
  return position;
}

function isDigit(byte: number): boolean {
  return byte >= DIGIT_0 && byte <= DIGIT_9;
}
