import { allow, allowBytes, newState, newStateLike } from "./table.ts";
import {
  CHARACTER_STEPS,
  type CharacterState,
  ESCAPED_LETTERS,
} from "./utf8.ts";

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
  allow(escape, ESCAPED_LETTERS, text);
  let next = text;
  for (let digits = 0; digits < 4; digits++) {
    const state = newState();
    allow(state, HEX_DIGITS, next);
    next = state;
  }
  allow(escape, "u", next);
}

/** Those beyond ASCII. */
function allowCharacters(text: number): void {
  const within = () => {
    const state = newState();
    withinCharacter.add(state);
    return state;
  };
  const states: Readonly<Record<CharacterState, number>> = {
    text,
    oneMore: within(),
    twoMore: within(),
    threeMore: within(),
    afterE0: within(),
    afterED: within(),
    afterF0: within(),
    afterF4: within(),
  };
  for (const [state, first, last, next] of CHARACTER_STEPS) {
    allowBytes(states[state], [first, last], states[next]);
  }
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
