/**
 * The position in a character beyond ASCII. `text` means between characters; any other state means after some bytes of
 * a character.
 */
export type CharacterState =
  | "text"
  | "oneMore"
  | "twoMore"
  | "threeMore"
  | "afterE0"
  | "afterED"
  | "afterF0"
  | "afterF4";

/** In `state`, a byte from `first` to `last` gives `next`. */
type ByteStep<State> = readonly [
  state: State,
  first: number,
  last: number,
  next: State,
];

/**
 * The bytes of characters beyond ASCII in UTF-8: no overlong form, no surrogate, nothing above U+10FFFF (table 3-7 of
 * the Unicode standard).
 */
export const CHARACTER_STEPS: readonly ByteStep<CharacterState>[] = [
  ["text", 0xc2, 0xdf, "oneMore"],
  ["text", 0xe0, 0xe0, "afterE0"],
  ["text", 0xe1, 0xec, "twoMore"],
  ["text", 0xed, 0xed, "afterED"],
  ["text", 0xee, 0xef, "twoMore"],
  ["text", 0xf0, 0xf0, "afterF0"],
  ["text", 0xf1, 0xf3, "threeMore"],
  ["text", 0xf4, 0xf4, "afterF4"],
  ["oneMore", 0x80, 0xbf, "text"],
  ["twoMore", 0x80, 0xbf, "oneMore"],
  ["threeMore", 0x80, 0xbf, "twoMore"],
  ["afterE0", 0xa0, 0xbf, "oneMore"],
  ["afterED", 0x80, 0x9f, "oneMore"],
  ["afterF0", 0x90, 0xbf, "twoMore"],
  ["afterF4", 0x80, 0x8f, "twoMore"],
];

/** The letters that form an escape with a backslash in a JSON string; without `u`, which needs four digits after it. */
export const ESCAPED_LETTERS = '"\\/bfnrt';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The entry of a byte is 1 if the byte is one of {@linkcode ESCAPED_LETTERS}, else 0. */
const IS_ESCAPED = new Uint8Array(256);
for (const byte of new TextEncoder().encode(ESCAPED_LETTERS)) {
  IS_ESCAPED[byte] = 1;
}

/*
 * Most bytes of a request are in long strings. Plain ASCII is read four bytes at a time, together with the short
 * escapes in it. An automaton that knows only strings reads the other characters. The table of the grammar handles the
 * rest, byte by byte.
 *
 * The automaton is a "shift-based DFA" (https://gist.github.com/pervognsen/218ea17743e1442e59bb60d29b1aa725). Each byte
 * has a row of 32 bits that holds the next state for all ten states. The value of a state is the position of its five
 * bits in a row. A step is one look-up and one shift without a branch, so all languages are read at the same speed.
 *
 * Ten times five bits do not fit into 32 unless they overlap. Two states may overlap if in each row their bits are
 * equal or do not matter. The positions are the first that fit all rows, found by trying 1 to 31 for each state in the
 * order of {@linkcode TEXT_STATE_PLACES}. With wrong positions, `tests/json_scan/scan_test.ts` would fail: it compares
 * the scan with `TextDecoder` for each sequence of bytes.
 *
 * The constants are in this file because V8 folds a file's own constants into the code. V8 reads imported constants
 * from memory at each use. That costs a third of the speed or more.
 */

/** The state in which the automaton stops at a byte. This state has no transitions. */
const STOP = 0;
/** At the beginning of a character. */
const TEXT = 1;
/** After a backslash. */
const ESCAPE = 31;

const STATE_MASK = 31;

/** The states within a string, except `STOP`. */
type TextState = CharacterState | "escape";

/** The position of each state's five bits in a row. */
const TEXT_STATE_PLACES: Readonly<Record<TextState, number>> = {
  text: TEXT,
  oneMore: 6,
  twoMore: 12,
  threeMore: 11,
  afterE0: 16,
  afterED: 23,
  afterF0: 19,
  afterF4: 26,
  escape: ESCAPE,
};

type TextStep = ByteStep<TextState>;

/** The allowed transitions. In each state, all other bytes lead to `STOP`. */
const TEXT_STEPS: readonly TextStep[] = [
  ["text", 0x20, 0x21, "text"],
  ["text", 0x23, 0x5b, "text"],
  ["text", 0x5c, 0x5c, "escape"],
  ["text", 0x5d, 0x7f, "text"],
  ...Array.from(ESCAPED_LETTERS, escapeStep),
  ...CHARACTER_STEPS,
];

function escapeStep(letter: string): TextStep {
  const byte = letter.charCodeAt(0);
  return ["escape", byte, byte, "text"];
}

/** The rows of the automaton, by byte. */
const ROWS = rowsOf(TEXT_STEPS);

function rowsOf(steps: readonly TextStep[]): Int32Array {
  const rows = new Int32Array(256);
  for (const [state, first, last, next] of steps) {
    const bits = TEXT_STATE_PLACES[next] << TEXT_STATE_PLACES[state];
    for (let byte = first; byte <= last; byte++) {
      rows[byte] = (rows[byte] ?? 0) | bits;
    }
  }
  return rows;
}

/** The bytes of a string, and a view that reads four bytes at a time. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  readonly words: DataView;
}

/** Returns bytes together with a view of the same memory. */
export function textOf(bytes: Uint8Array): TextBytes {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes, words };
}

/** The number of bytes that the automaton reads before the faster loop is tried again. */
const AUTOMATON_BYTES = 64;

/**
 * Skips valid characters of a JSON string.
 *
 * @param start The beginning of a character.
 * @returns The beginning of the first character that is not handled here or is incomplete. If there is no such
 * character, the length of the text.
 */
export function skipText(text: TextBytes, start: number): number {
  const { bytes } = text;
  let position = start;
  for (;;) {
    position = skipPlain(text, position);
    if (position === bytes.length || bytes[position] === QUOTE) return position;
    const end = Math.min(position + AUTOMATON_BYTES, bytes.length);
    const next = skipCharacters(bytes, position, end);
    if (next < end - MAX_UNFINISHED_BYTES || next === position) return next;
    position = next;
  }
}

/** At the end of the automaton's range, at most this many bytes belong to an unfinished character or escape. */
const MAX_UNFINISHED_BYTES = 3;

/**
 * Skips plain bytes, four at a time, and the short escapes between them, such as the line feeds of code.
 *
 * @returns The offset of the first byte that is not skipped. Up to three plain bytes at the end are not skipped either.
 */
function skipPlain({ bytes, words }: TextBytes, start: number): number {
  const lastWord = bytes.length - 4;
  let position = start;
  for (;;) {
    let marks = 0;
    for (; position <= lastWord; position += 4) {
      marks = markSpecial(words.getInt32(position, true));
      if (marks !== 0) break;
    }
    if (marks === 0) return position;
    position += firstMarked(marks);
    const isEscape = bytes[position] === BACKSLASH &&
      IS_ESCAPED[bytes[position + 1] ?? 0] === 1;
    if (!isEscape) return position;
    position += 2;
  }
}

/**
 * Sets the highest bit of each byte that is a quote, a backslash, a control character or beyond ASCII. The borrow of a
 * subtraction may also mark a byte by mistake, but only above a byte that is marked rightly.
 */
function markSpecial(word: number): number {
  // Flipping one bit swaps the quote and the space, so that the quote comes right after the control characters.
  const controlOrQuote = (word ^ 0x02020202) - 0x21212121;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (word | controlOrQuote | backslash) & 0x80808080;
}

/** Returns the index of the first marked byte. In little-endian order, the first byte is the lowest. */
function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/**
 * Skips the characters and escapes that end before `end`. Stops at the first character or escape that the automaton
 * does not handle.
 */
function skipCharacters(
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  let state = TEXT;
  let position = start;
  for (; position < end; position++) {
    const next = (ROWS[bytes[position] ?? 0] ?? 0) >>> state;
    if ((next & STATE_MASK) === STOP) break;
    state = next;
  }
  switch (state & STATE_MASK) {
    case TEXT:
      return position;
    case ESCAPE:
      return position - 1;
    default:
      return beginOfCharacter(bytes, position - 1);
  }
}

/** Returns the beginning of the unfinished character to which the byte at `position` belongs. */
function beginOfCharacter(bytes: Uint8Array, position: number): number {
  let begin = position;
  while (((bytes[begin] ?? 0) & 0xc0) === 0x80) begin--;
  return begin;
}
