/**
 * An automaton over the bytes of a JSON string: RFC 8259 section 7 for escapes, table 3-7 of the Unicode
 * standard for UTF-8 (no overlong form, no surrogate, nothing above U+10FFFF).
 *
 * It is a "shift-based DFA": each byte has one 32-bit row that holds the next state of all ten states, and
 * a state's value is the place of its five bits in the row. So a step is one look-up and one shift, with no
 * branch for the processor to guess wrong: text of any language goes at the same pace. Ten times five bits
 * overlap in 32; the values below were found by a search for places where all overlapping bits agree.
 */

/** The byte is refused, or needs a closer look; no state leads out of it. */
export const STOP = 0;
/** At the beginning of a character. */
export const TEXT = 6;
/** Behind a backslash. */
export const ESCAPE = 11;

const ONE_MORE = 16;
const TWO_MORE = 1;
const THREE_MORE = 18;
const AFTER_E0 = 25;
const AFTER_ED = 19;
const AFTER_F0 = 24;
const AFTER_F4 = 30;

/** In a state, bytes from `first` to `last` lead to `next`; all that is not listed leads to `STOP`. */
type Transition = readonly [
  state: number,
  first: number,
  last: number,
  next: number,
];

const TRANSITIONS: readonly Transition[] = [
  [TEXT, 0x20, 0x21, TEXT],
  [TEXT, 0x23, 0x5b, TEXT],
  [TEXT, 0x5c, 0x5c, ESCAPE],
  [TEXT, 0x5d, 0x7f, TEXT],
  ...escapeTransitions('"\\/bfnrt'),
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

function escapeTransitions(letters: string): Transition[] {
  return Array.from(letters, (letter) => {
    const byte = letter.charCodeAt(0);
    return [ESCAPE, byte, byte, TEXT];
  });
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

/** The state behind `byte`. Only its lowest five bits count: {@linkcode stateOf} gives them. */
export function step(state: number, byte: number): number {
  return (ROWS[byte] ?? STOP) >>> state;
}

/** The result of {@linkcode step} without the bits that do not count. */
export function stateOf(stepped: number): number {
  return stepped & 31;
}
