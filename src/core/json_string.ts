import { LETTER_U, QUOTE, SPACE } from "./json_bytes.ts";
import { failEncoding, failSyntax } from "./json_scan_error.ts";
import { ESCAPE, stateOf, step, STOP, TEXT } from "./json_string_states.ts";
import type { JsonText } from "./json_text.ts";

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
  if (bytes[start] !== QUOTE) failSyntax(bytes, start);
  const position = skipPlain(text, start + 1);
  if (bytes[position] === QUOTE) return position + 1;
  return skipAny(bytes, position);
}

/** Skips bytes that need no second look, four at a time; may stop up to three bytes short of the end. */
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
 * borrow may mark a wrong byte as well, yet only above a right one.
 */
function markSpecial(word: number): number {
  const control = word - 0x20202020;
  const quote = (word ^ 0x22222222) - 0x01010101;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (word | control | quote | backslash) & 0x80808080;
}

function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/** Skips the rest of a string whatever it holds, at the same pace for every alphabet. */
function skipAny(bytes: Uint8Array, start: number): number {
  let position = start;
  for (;;) {
    let state = TEXT;
    for (; position < bytes.length; position++) {
      const next = step(state, bytes[position] ?? 0);
      if (stateOf(next) === STOP) break;
      state = next;
    }
    state = stateOf(state);
    const byte = bytes[position];
    if (byte === QUOTE && state === TEXT) return position + 1;
    if (byte !== LETTER_U || state !== ESCAPE) fail(bytes, position, state);
    position = skipHexDigits(bytes, position + 1);
  }
}

function fail(bytes: Uint8Array, position: number, state: number): never {
  const byte = bytes[position];
  const isGrammar = state === ESCAPE || (state === TEXT && (byte ?? 0) < SPACE);
  if (byte === undefined || isGrammar) failSyntax(bytes, position);
  failEncoding(position);
}

function skipHexDigits(bytes: Uint8Array, start: number): number {
  const end = start + 4;
  for (let position = start; position < end; position++) {
    if (!isHexDigit(bytes[position] ?? 0)) failSyntax(bytes, position);
  }
  return end;
}

function isHexDigit(byte: number): boolean {
  const letter = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x66);
}
