import { failSyntax } from "./scan_error.ts";
import { skipStringRest } from "./string_automaton.ts";
import { byteAt, type JsonText } from "./text.ts";

const QUOTE = 0x22;

/**
 * Checks one JSON string (RFC 8259 section 7) and its UTF-8. Escapes of lone surrogates pass, as they do in
 * `JSON.parse`.
 *
 * @param start Offset of the opening quote.
 * @returns The offset behind the closing quote.
 * @throws {JsonScanError} With `syntax` or `encoding`.
 */
export function skipString(text: JsonText, start: number): number {
  const { bytes } = text;
  if (byteAt(bytes, start) !== QUOTE) failSyntax(bytes, start);
  const position = skipPlain(text, start + 1);
  if (byteAt(bytes, position) === QUOTE) return position + 1;
  return skipStringRest(bytes, position);
}

/**
 * Skips bytes that need no second look, four at a time.
 *
 * @returns The offset of a byte that needs one, or one of the last three of the body.
 */
function skipPlain({ bytes, words }: JsonText, start: number): number {
  const lastWord = bytes.length - 4;
  let position = start;
  for (; position <= lastWord; position += 4) {
    const marks = markSpecial(words.getInt32(position, true));
    if (marks !== 0) return position + firstMarked(marks);
  }
  return position;
}

/**
 * Sets the highest bit of each byte that is a quote, a backslash, a control character or beyond ASCII. A
 * borrow may mark a wrong byte too, but only above a right one.
 */
function markSpecial(word: number): number {
  const control = word - 0x20202020;
  const quote = (word ^ 0x22222222) - 0x01010101;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (word | control | quote | backslash) & 0x80808080;
}

/** The index of the first marked byte, which little-endian order puts lowest. */
function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}
