import { allow, allowBytes, newState, newStateLike } from "./table.ts";

/** The white space of JSON. */
export const SPACES = " \t\n\r";

const DIGITS_1_TO_9 = "123456789";
const DIGITS = `0${DIGITS_1_TO_9}`;
const HEX_DIGITS = `${DIGITS}abcdefABCDEF`;

/** States where a character of UTF-8 has begun and is not over. */
const withinCharacter = new Set<number>();

/** Whether a character of UTF-8 has begun and is not over. */
export function isWithinCharacter(state: number): boolean {
  return withinCharacter.has(state);
}

/**
 * A string, from behind its opening quote.
 *
 * @param text The state at the beginning of its characters.
 * @param end What its closing quote leads to.
 */
export function allowText(text: number, end: number): void {
  allowBytes(text, [0x20, 0x7f], text);
  allow(text, '"', end);
  allowEscapes(text);
  allowCharacters(text);
}

function allowEscapes(text: number): void {
  const escape = newState();
  allow(text, "\\", escape);
  allow(escape, '"\\/bfnrt', text);
  let next = text;
  for (let digits = 0; digits < 4; digits++) {
    const state = newState();
    allow(state, HEX_DIGITS, next);
    next = state;
  }
  allow(escape, "u", next);
}

/** Those beyond ASCII: nothing overlong, no surrogate, nothing above U+10FFFF. */
function allowCharacters(text: number): void {
  const within = () => {
    const state = newState();
    withinCharacter.add(state);
    return state;
  };
  const [oneMore, twoMore, threeMore] = [within(), within(), within()];
  const [afterE0, afterED] = [within(), within()];
  const [afterF0, afterF4] = [within(), within()];
  allowBytes(text, [0xc2, 0xdf], oneMore);
  allowBytes(text, [0xe0, 0xef], twoMore);
  allowBytes(text, [0xe0, 0xe0], afterE0);
  allowBytes(text, [0xed, 0xed], afterED);
  allowBytes(text, [0xf0, 0xf0], afterF0);
  allowBytes(text, [0xf1, 0xf3], threeMore);
  allowBytes(text, [0xf4, 0xf4], afterF4);
  allowBytes(oneMore, [0x80, 0xbf], text);
  allowBytes(twoMore, [0x80, 0xbf], oneMore);
  allowBytes(threeMore, [0x80, 0xbf], twoMore);
  allowBytes(afterE0, [0xa0, 0xbf], oneMore);
  allowBytes(afterED, [0x80, 0x9f], oneMore);
  allowBytes(afterF0, [0x90, 0xbf], twoMore);
  allowBytes(afterF4, [0x80, 0x8f], twoMore);
}

/** Where a value may stand. */
export interface Place {
  /** The states in which it may begin. */
  readonly begin: readonly number[];
  readonly text: number;
  /** What the last byte of a string or a literal leads to. */
  readonly end: number;
  /** The state behind a number, whose bytes end it. */
  readonly next: number;
}

/** A value that is no container, and the white space before it. */
export function allowValue({ begin, text, end, next }: Place): void {
  allowText(text, end);
  const numbers = allowNumber(next);
  const literals = ["true", "false", "null"].map((word) => ({
    first: word.charAt(0),
    state: allowRest(word.slice(1), end),
  }));
  for (const state of begin) {
    allow(state, SPACES, state);
    allow(state, '"', text);
    allow(state, "-", numbers.minus);
    allow(state, "0", numbers.zero);
    allow(state, DIGITS_1_TO_9, numbers.integer);
    for (const literal of literals) allow(state, literal.first, literal.state);
  }
}

/** The state in which the rest of a literal must come. */
function allowRest(rest: string, end: number): number {
  let next = end;
  for (const letter of [...rest].reverse()) {
    const state = newState();
    allow(state, letter, next);
    next = state;
  }
  return next;
}

/** The states behind the first byte of a number. */
interface NumberStates {
  readonly minus: number;
  readonly zero: number;
  readonly integer: number;
}

function allowNumber(next: number): NumberStates {
  const minus = newState();
  const point = newState();
  const exponent = newState();
  const exponentSign = newState();
  // A number may end behind these.
  const [zero, integer] = [newStateLike(next), newStateLike(next)];
  const [fraction, exponentDigits] = [newStateLike(next), newStateLike(next)];
  allow(minus, "0", zero);
  allow(minus, DIGITS_1_TO_9, integer);
  allow(integer, DIGITS, integer);
  for (const state of [zero, integer]) {
    allow(state, ".", point);
    allow(state, "eE", exponent);
  }
  allow(point, DIGITS, fraction);
  allow(fraction, DIGITS, fraction);
  allow(fraction, "eE", exponent);
  allow(exponent, "+-", exponentSign);
  for (const state of [exponent, exponentSign, exponentDigits]) {
    allow(state, DIGITS, exponentDigits);
  }
  return { minus, zero, integer };
}
