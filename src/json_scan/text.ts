/** Where a character beyond ASCII is: at its beginning, which is also its end, or behind some of its bytes. */
export type CharacterState =
  | "text"
  | "oneMore"
  | "twoMore"
  | "threeMore"
  | "afterE0"
  | "afterED"
  | "afterF0"
  | "afterF4";

/** In `state`, the bytes from `first` to `last` lead to `next`. */
type ByteStep<State> = readonly [
  state: State,
  first: number,
  last: number,
  next: State,
];

/**
 * Characters beyond ASCII as UTF-8 has them: nothing overlong, no surrogate, nothing above U+10FFFF (table 3-7 of
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

/** The letters that may stand behind a backslash in a string of JSON, but for the `u` of four hexadecimal digits. */
export const ESCAPED_LETTERS = '"\\/bfnrt';

const QUOTE = 0x22;

/*
 * Most bytes of a request are those of long strings. They go four at a time as long as they are plain ASCII, and
 * else through an automaton that knows nothing but strings; what neither of them takes goes by the table of the
 * grammar, byte by byte.
 *
 * The automaton is a "shift-based DFA" (https://gist.github.com/pervognsen/218ea17743e1442e59bb60d29b1aa725). Each byte
 * has a row of 32 bits that holds the next state for all ten states, and the value of a state is the place of its five
 * bits in a row. A step is one look-up and one shift, with nothing for the processor to guess, so every language goes
 * at the same pace.
 *
 * Ten times five bits do not fit into 32 unless they overlap. They may where a row has the same bits for both, or none
 * that matter. The places are the first that agree in every row, trying 1 to 31 for one state after another in the
 * order of {@linkcode TEXT_STATE_PLACES}. With wrong places the scan would disagree with `TextDecoder`, to which
 * `tests/json_scan/scan_test.ts` holds it for every sequence of bytes.
 *
 * This file names what it needs by itself: V8 folds a file's own constants into the code but reads imported ones
 * from memory at every use, which costs a third of the speed and more.
 */

/** The byte needs a closer look; no step leads out of here. */
const STOP = 0;
/** At the beginning of a character. */
const TEXT = 1;
/** Behind a backslash. */
const ESCAPE = 31;

const STATE_MASK = 31;

/** Where a string is, but for `STOP`. */
type TextState = CharacterState | "escape";

/** The place of each state in a row. */
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

/** What is not listed leads to `STOP`. */
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

/** By byte. */
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

/** Bytes of one string; `words` are the same, to be read four at a time. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  readonly words: DataView;
}

/** Bytes with a view of them. */
export function textOf(bytes: Uint8Array): TextBytes {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes, words };
}

/** So many bytes go through the automaton before the faster way is tried again. */
const AUTOMATON_BYTES = 64;

/**
 * Skips characters of a JSON string that are in order.
 *
 * @param start Where a character begins.
 * @returns Where one begins that needs a closer look, or that is not there whole; the length when all are in order.
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

/** Of a character or an escape that goes on behind the bytes that the automaton was given. */
const MAX_UNFINISHED_BYTES = 3;

/**
 * Skips bytes that need no second look, four at a time.
 *
 * @returns The offset of a byte that needs one, or one of the last three.
 */
function skipPlain({ bytes, words }: TextBytes, start: number): number {
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
  // With one bit the other way round, a quote is where a space was: right behind the control characters.
  const controlOrQuote = (word ^ 0x02020202) - 0x21212121;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (word | controlOrQuote | backslash) & 0x80808080;
}

/** The index of the first marked byte, which little-endian order puts lowest. */
function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/** Skips the characters and escapes that end before `end`, up to one that the automaton stops at. */
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

/** Where the character begins whose byte at `position` is not its last. */
function beginOfCharacter(bytes: Uint8Array, position: number): number {
  let begin = position;
  while (((bytes[begin] ?? 0) & 0xc0) === 0x80) begin--;
  return begin;
}
