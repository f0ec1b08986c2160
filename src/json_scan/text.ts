const QUOTE = 0x22;

/*
 * Most bytes of a request are those of long strings. They go four at a time as long as they are plain ASCII, and
 * else through an automaton that knows nothing but strings; what neither of them takes goes by the table of the
 * grammar, byte by byte.
 *
 * The automaton is a "shift-based DFA". Each byte has a row of 32 bits that holds the next state for all ten
 * states, and the value of a state is the place of its five bits in a row. A step is one look-up and one shift,
 * with nothing for the processor to guess, so every language goes at the same pace. Ten times five bits overlap in
 * 32; these values come from a search for places where overlapping bits agree in every row.
 *
 * This file names what it needs by itself: V8 folds a file's own constants into the code but reads imported ones
 * from memory at every use, which costs a third of the speed and more.
 */

/** The byte needs a closer look; no transition leads out of here. */
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
  const control = word - 0x20202020;
  const quote = (word ^ 0x22222222) - 0x01010101;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (word | control | quote | backslash) & 0x80808080;
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
