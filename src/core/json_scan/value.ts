import { skipScalar } from "./scalar.ts";
import { failSyntax } from "./scan_error.ts";
import { skipString } from "./string.ts";
import { byteAt, type JsonText, skipColon, skipSpace } from "./text.ts";

const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Checks one JSON value. Its depth costs one bit a level and no recursion.
 *
 * @param start Offset of its first byte.
 * @returns The offset behind it; that of the pause while {@linkcode isUnfinished}.
 * @throws {JsonScanError} With `syntax` or `encoding`.
 */
export function skipValue(text: JsonText, start: number): number {
  return isOpener(byteAt(text.bytes, start))
    ? skipBrackets(text, start)
    : skipScalar(text, start);
}

/** Whether the scan has paused within a value. */
export function isUnfinished({ open }: JsonText): boolean {
  return open.size > 0;
}

/**
 * Goes on with a value.
 *
 * @param start Where it paused.
 * @returns As {@linkcode skipValue} does.
 * @throws {JsonScanError} With `syntax` or `encoding`.
 */
export function resumeValue(text: JsonText, start: number): number {
  if (!text.isAtItem) return skipBrackets(text, start);
  text.isAtItem = false;
  const position = skipItems(text, start);
  return text.isAtItem ? position : skipBrackets(text, position);
}

/** From a bracket to the end of the value, or to the next pause. */
function skipBrackets(text: JsonText, start: number): number {
  let position = start;
  do {
    position = isOpener(byteAt(text.bytes, position))
      ? enterContainer(text, position)
      : leaveContainer(text, position);
  } while (text.open.size > 0 && position < text.pauseAt);
  return position;
}

function isOpener(byte: number): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}

/** From an opening bracket to the next bracket, which opens or closes. */
function enterContainer(text: JsonText, start: number): number {
  const { bytes, open } = text;
  const isObject = byteAt(bytes, start) === OPEN_BRACE;
  open.push(isObject);
  const first = skipSpace(bytes, start + 1);
  const closer = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
  return byteAt(bytes, first) === closer ? first : skipItems(text, first);
}

/** From a closing bracket to the next bracket, or behind it when it was the outermost. */
function leaveContainer(text: JsonText, start: number): number {
  const { bytes, open } = text;
  open.pop();
  if (open.size === 0) return start + 1;
  const next = skipSpace(bytes, start + 1);
  const byte = byteAt(bytes, next);
  if (byte === COMMA) return skipItems(text, skipSpace(bytes, next + 1));
  const closer = open.top ? CLOSE_BRACE : CLOSE_BRACKET;
  if (byte !== closer) failSyntax(bytes, next);
  return next;
}

/**
 * From the first byte of an item to the next bracket: that of an item within, or the closing one; or to the next
 * pause.
 */
function skipItems(text: JsonText, start: number): number {
  return text.open.top ? skipMembers(text, start) : skipElements(text, start);
}

function skipMembers(text: JsonText, start: number): number {
  const { bytes } = text;
  let position = start;
  for (;;) {
    position = skipColon(bytes, skipString(text, position));
    if (isOpener(byteAt(bytes, position))) return position;
    position = skipSpace(bytes, skipScalar(text, position));
    const byte = byteAt(bytes, position);
    if (byte === CLOSE_BRACE) return position;
    if (byte !== COMMA) failSyntax(bytes, position);
    position = skipSpace(bytes, position + 1);
    if (position >= text.pauseAt) return pauseAtItem(text, position);
  }
}

function skipElements(text: JsonText, start: number): number {
  const { bytes } = text;
  let position = start;
  for (;;) {
    if (isOpener(byteAt(bytes, position))) return position;
    position = skipSpace(bytes, skipScalar(text, position));
    const byte = byteAt(bytes, position);
    if (byte === CLOSE_BRACKET) return position;
    if (byte !== COMMA) failSyntax(bytes, position);
    position = skipSpace(bytes, position + 1);
    if (position >= text.pauseAt) return pauseAtItem(text, position);
  }
}

function pauseAtItem(text: JsonText, position: number): number {
  text.isAtItem = true;
  return position;
}
