import { failEncoding, failSyntax } from "./scan_error.ts";
import { byteAt } from "./text.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const LETTER_U = 0x75;

/*
 * An automaton over the bytes of a JSON string: RFC 8259 section 7 for the escapes, table 3-7 of the Unicode
 * standard for UTF-8 (nothing overlong, no surrogate, nothing above U+10FFFF).
 *
 * It is a "shift-based DFA". Each byte has a row of 32 bits that holds the next state for all ten states,
 * and the value of a state is the place of its five bits in a row. A step is one look-up and one shift, with
 * nothing for the processor to guess, so every language goes at the same pace. Ten times five bits overlap
 * in 32; these values come from a search for places where overlapping bits agree in every row.
 */

/** The byte is at fault or needs a closer look; no transition leads out of here. */
const STOP = 0;
/** At the beginning of a character. */
const TEXT = 6;
/** Behind a backslash. */
const ESCAPE = 11;
const ONE_MORE = 16;
const TWO_MORE = 1;
const THREE_MORE = 18;
const AFTER_E0 = 25;
const AFTER_ED = 19;
const AFTER_F0 = 24;
const AFTER_F4 = 30;

const STATE_MASK = 31;

/** In `state`, the bytes from `first` to `last` lead to `next`. */
type Transition = readonly [
  state: number,
  first: number,
  last: number,
  next: number,
];

/** What is not listed leads to `STOP`. */
const TRANSITIONS: readonly Transition[] = [
  [TEXT, 0x20, 0x21, TEXT],
  [TEXT, 0x23, 0x5b, TEXT],
  [TEXT, 0x5c, 0x5c, ESCAPE],
  [TEXT, 0x5d, 0x7f, TEXT],
  ...Array.from('"\\/bfnrt', escapeTransition),
  [TEXT, 0xc2, 0xdf, ONE_MORE],
  [TEXT, 0xe0, 0xe0, AFTER_E0],
  [TEXT, 0xe1, 0xec, TWO_MORE],
  [TEXT, 0xed, 0xed, AFTER_ED],
  [TEXT, 0xee, 0xef, TWO_MORE],
  [TEXT, 0xf0, 0xf0, AFTER_F0],
  [TEXT, 0xf1, 0xf3, THREE_MORE],
  [TEXT, 0xf4, 0xf4, AFTER_F4],
  [ONE_MORE, 0x80, 0xbf, TEXT],
  [TWO_MORE, 0x80, 0xbf, ONE_MORE],
  [THREE_MORE, 0x80, 0xbf, TWO_MORE],
  [AFTER_E0, 0xa0, 0xbf, ONE_MORE],
  [AFTER_ED, 0x80, 0x9f, ONE_MORE],
  [AFTER_F0, 0x90, 0xbf, TWO_MORE],
  [AFTER_F4, 0x80, 0x8f, TWO_MORE],
];

function escapeTransition(letter: string): Transition {
  const byte = letter.charCodeAt(0);
  return [ESCAPE, byte, byte, TEXT];
}

const ROWS = rowsOf(TRANSITIONS);

function rowsOf(transitions: readonly Transition[]): Int32Array {
  const rows = new Int32Array(256);
  for (const [state, first, last, next] of transitions) {
    for (let byte = first; byte <= last; byte++) {
      rows[byte] = (rows[byte] ?? 0) | next << state;
    }
  }
  return rows;
}

const IS_HEX_DIGIT = Uint8Array.from(
  { length: 256 },
  (_, byte) => /[0-9a-f]/i.test(String.fromCharCode(byte)) ? 1 : 0,
);

/**
 * Checks the rest of a JSON string, whatever it holds.
 *
 * @param start Offset within the string where a character begins.
 * @returns The offset behind the closing quote.
 * @throws {JsonScanError} With `syntax` or `encoding`.
 */
export function skipStringRest(bytes: Uint8Array, start: number): number {
  const end = bytes.length;
  let position = start;
  for (;;) {
    let state = TEXT;
    for (; position < end; position++) {
      const next = (ROWS[bytes[position] ?? 0] ?? 0) >>> state;
      if ((next & STATE_MASK) === STOP) break;
      state = next;
    }
    state &= STATE_MASK;
    const byte = byteAt(bytes, position);
    if (byte === QUOTE && state === TEXT) return position + 1;
    if (byte !== LETTER_U || state !== ESCAPE) fail(bytes, position, state);
    position = skipHexDigits(bytes, position + 1);
  }
}

/** Says why the automaton stopped at `position` in `state`. */
function fail(bytes: Uint8Array, position: number, state: number): never {
  const isEnd = position === bytes.length;
  const isControl = state === TEXT && byteAt(bytes, position) < SPACE;
  if (isEnd || isControl || state === ESCAPE) failSyntax(bytes, position);
  failEncoding(position);
}

function skipHexDigits(bytes: Uint8Array, start: number): number {
  const end = start + 4;
  for (let position = start; position < end; position++) {
    const byte = Math.max(byteAt(bytes, position), 0);
    if (IS_HEX_DIGIT[byte] !== 1) failSyntax(bytes, position);
  }
  return end;
}
