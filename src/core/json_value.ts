import type { BitStack } from "./bit_stack.ts";
import { failSyntax } from "./json_scan_error.ts";
import { type JsonText, skipString } from "./json_string.ts";

const SPACE = 0x20, QUOTE = 0x22, COMMA = 0x2c, COLON = 0x3a;
const OPEN_BRACKET = 0x5b,
  CLOSE_BRACKET = 0x5d,
  OPEN_BRACE = 0x7b,
  CLOSE_BRACE = 0x7d;

export function skipSpace(bytes: Uint8Array, start: number): number {
  let position = start;
  while (position < bytes.length) {
    const byte = bytes[position] ?? 0;
    if (
      byte > SPACE ||
      (byte !== SPACE && byte !== 10 && byte !== 13 && byte !== 9)
    ) break;
    position++;
  }
  return position;
}

export function skipColon(bytes: Uint8Array, start: number): number {
  const colon = skipSpace(bytes, start);
  if (bytes[colon] !== COLON) failSyntax(bytes, colon);
  return skipSpace(bytes, colon + 1);
}

export function skipValue(
  text: JsonText,
  start: number,
  open: BitStack,
): number {
  const byte = text.bytes[start];
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
    return skipContainer(text, start, open);
  }
  return skipScalar(text, start);
}

function skipContainer(text: JsonText, start: number, open: BitStack): number {
  const { bytes } = text;
  let position = start;
  for (;;) {
    const byte = bytes[position];
    let inObject: boolean;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      inObject = byte === OPEN_BRACE;
      open.push(inObject);
      position = skipSpace(bytes, position + 1);
      if (bytes[position] === (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        continue;
      }
    } else {
      open.pop();
      position++;
      if (open.size === 0) return position;
      inObject = open.top;
      position = skipSpace(bytes, position);
      if (bytes[position] !== COMMA) {
        if (bytes[position] !== (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
          failSyntax(bytes, position);
        }
        continue;
      }
      position = skipSpace(bytes, position + 1);
    }
    position = skipScalars(text, position, inObject);
  }
}

function skipScalars(text: JsonText, start: number, inObject: boolean): number {
  const { bytes } = text;
  let position = start;
  for (;;) {
    if (inObject) position = skipColon(bytes, skipString(text, position));
    const byte = bytes[position];
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return position;
    position = skipScalar(text, position);
    position = skipSpace(bytes, position);
    if (bytes[position] !== COMMA) {
      if (bytes[position] !== (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        failSyntax(bytes, position);
      }
      return position;
    }
    position = skipSpace(bytes, position + 1);
  }
}

function skipScalar(text: JsonText, start: number): number {
  switch (text.bytes[start]) {
    case QUOTE:
      return skipString(text, start);
    case 0x74:
      return skipLiteral(text.bytes, start, "true");
    case 0x66:
      return skipLiteral(text.bytes, start, "false");
    case 0x6e:
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
  for (let i = 1; i < literal.length; i++) {
    if (bytes[start + i] !== literal.charCodeAt(i)) {
      failSyntax(bytes, start + i);
    }
  }
  return start + literal.length;
}

function skipNumber(bytes: Uint8Array, start: number): number {
  let position = bytes[start] === 0x2d ? start + 1 : start;
  position = bytes[position] === 0x30
    ? position + 1
    : skipDigits(bytes, position);
  if (bytes[position] === 0x2e) position = skipDigits(bytes, position + 1);
  const e = bytes[position];
  if (e === 0x65 || e === 0x45) {
    const sign = bytes[position + 1];
    position = skipDigits(
      bytes,
      sign === 0x2b || sign === 0x2d ? position + 2 : position + 1,
    );
  }
  return position;
}

function skipDigits(bytes: Uint8Array, start: number): number {
  let position = start;
  while (position < bytes.length) {
    const byte = bytes[position] ?? 0;
    if (byte < 0x30 || byte > 0x39) break;
    position++;
  }
  if (position === start) failSyntax(bytes, start);
  return position;
}
