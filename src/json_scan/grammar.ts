import { SEAL_MARK } from "@gateway/base/seal_mark";
import {
  CHARACTER_STEPS,
  type CharacterState,
  ESCAPED_LETTERS,
} from "./text.ts";

/** The lowest number in the table that stands for a step. Lower numbers stand for states. */
export const FIRST_STEP = 192;
/** The step for a byte that is not allowed. */
const FAULT = FIRST_STEP;

/**
 * The number of states that stand at the beginning of a character in a string. These states have the lowest numbers, so
 * that one comparison identifies them.
 */
export const TEXT_STATES = 5;

const BYTES = 256;

/** The transition table. The entry at `state * 256 + byte` is the next state, or a step at which the walker acts. */
export const NEXT: Uint8Array = new Uint8Array(FIRST_STEP * BYTES).fill(FAULT);

let states = TEXT_STATES;

/** Creates a state without transitions. */
function newState(): number {
  return states++;
}

/** Creates a state with the same transitions as the state `other`. */
function newStateLike(other: number): number {
  const state = newState();
  NEXT.copyWithin(state * BYTES, other * BYTES, (other + 1) * BYTES);
  return state;
}

/** Adds a transition from `state` to `next` for each of some ASCII characters. */
function allow(state: number, characters: string, next: number): void {
  for (const character of characters) {
    NEXT[state * BYTES + character.charCodeAt(0)] = next;
  }
}

/** Adds a transition from `state` to `next` for each byte in a range. */
function allowBytes(
  state: number,
  [first, last]: readonly [number, number],
  next: number,
): void {
  NEXT.fill(next, state * BYTES + first, state * BYTES + last + 1);
}

const SPACES = " \t\n\r";

const DIGITS_1_TO_9 = "123456789";
const DIGITS = `0${DIGITS_1_TO_9}`;
const HEX_DIGITS = `${DIGITS}abcdefABCDEF`;

/** The states between two bytes of one UTF-8 character. */
const withinCharacter = new Set<number>();

/** Returns true for a state between two bytes of one UTF-8 character. */
function isWithinCharacter(state: number): boolean {
  return withinCharacter.has(state);
}

/**
 * Adds the transitions of a string after its opening quote.
 *
 * @param text The state at the beginning of each character of the string.
 * @param end The state or step to which the closing quote leads.
 */
function allowText(text: number, end: number): void {
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

/** Adds the transitions of the characters beyond ASCII. */
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

/** The states before a character of the seal mark. Their numbers are not below {@linkcode TEXT_STATES}. */
const beforeMark = new Set<number>();

/**
 * Adds the transitions of a string that may begin with {@linkcode SEAL_MARK}, in any spelling.
 *
 * @param text The state within a string that does not begin with the mark.
 * @returns The state after the opening quote.
 */
function allowMark(text: number): number {
  let next = AFTER_MARK;
  for (const character of [...SEAL_MARK].reverse()) {
    const begin = newStateLike(text);
    beforeMark.add(begin);
    const code = character.charCodeAt(0).toString(16);
    let [state, other] = [begin, text];
    for (const byte of `\\u00${code.charAt(0)}`) {
      other = NEXT[other * BYTES + byte.charCodeAt(0)] ?? FAULT;
      const following = newStateLike(other);
      allow(state, byte, following);
      state = following;
    }
    const last = code.charAt(1);
    allow(state, last + last.toUpperCase(), next);
    allow(begin, character, next);
    next = begin;
  }
  return next;
}

/** The states of a value in one place of the grammar. */
interface Place {
  /** The states in which the value may begin. */
  readonly begin: readonly number[];
  readonly text: number;
  /** The state or step to which the last byte of a string or a literal leads. */
  readonly end: number;
  /** The state after a number. Only the byte after a number shows that the number has ended. */
  readonly next: number;
}

/** Adds the transitions of a value that is not a container, and of the white space before the value. */
function allowValue({ begin, text, end, next }: Place): void {
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

/** Returns the state in which the rest of a literal must follow. */
function allowRest(rest: string, end: number): number {
  let next = end;
  for (const letter of [...rest].reverse()) {
    const state = newState();
    allow(state, letter, next);
    next = state;
  }
  return next;
}

/** The states after the first byte of a number. */
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
  // A number may end after these.
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

/*
 * The grammar of JSON (RFC 8259) over UTF-8 (table 3-7 of the Unicode standard) is a table. In a state, a byte gives
 * the next state, or a step at which the walker does more work. So a document can be read in chunks that end anywhere.
 *
 * Values and strings have their own states in each context: in the outermost object, whose members are reported, in
 * inner objects, and in arrays. So the walker looks up the context for few bytes only.
 */

export const BEGIN_OBJECT = FIRST_STEP + 1;
export const BEGIN_ARRAY = FIRST_STEP + 2;
export const END_CONTAINER = FIRST_STEP + 3;
/** The quotes around the name of an outermost member. */
export const BEGIN_NAME = FIRST_STEP + 4;
export const END_NAME = FIRST_STEP + 5;
/** The first byte of an outermost member's value. The walker reads this byte again, as part of the value. */
export const BEGIN_VALUE = FIRST_STEP + 6;
/** The last byte of an outermost value that is not a container. */
export const END_VALUE = FIRST_STEP + 7;
/** The byte after an outermost number. The walker reads this byte again, as part of what follows. */
export const END_NUMBER = FIRST_STEP + 8;

/** The closing quote of the name of an inner member. */
export const END_INNER_NAME = FIRST_STEP + 9;
/** The last byte of a seal mark at the beginning of an inner member's text. */
export const AFTER_MARK = FIRST_STEP + 10;

/** The name of an outermost member. */
export const OUTER_NAME_TEXT = 0;
const OUTER_TEXT = 1;
const NAME_TEXT = 2;
export const MEMBER_TEXT = 3;
const ELEMENT_TEXT = 4;

/** Before the first byte. A byte order mark may begin here. */
export const VERY_START: number = newState();
/** Only white space so far. */
const START = newState();
const MARK_1 = newState();
const MARK_2 = newState();
/** After the document. */
export const END: number = newState();

/** After the brace that opens the outermost object. */
export const OUTER_FIRST_NAME: number = newState();
const OUTER_NAME = newState();
export const OUTER_COLON: number = newState();
const OUTER_VALUE = newState();
/** The next byte begins the value of an outermost member. */
export const OUTER_VALUE_HERE: number = newState();
const OUTER_AFTER_NUMBER = newState();
/** After an outermost member. */
export const OUTER_NEXT: number = newState();

/** After the brace that opens an inner object. */
export const FIRST_NAME: number = newState();
const NAME = newState();
export const COLON: number = newState();
const MEMBER = newState();
/** After a member of an inner object. */
export const NEXT_MEMBER: number = newState();

/** After the bracket that opens an array. */
export const FIRST_ELEMENT: number = newState();
const ELEMENT = newState();
/** After an element of an array. */
export const NEXT_ELEMENT: number = newState();

for (const state of [START, VERY_START]) {
  allow(state, SPACES, START);
  allow(state, "{", BEGIN_OBJECT);
}
allowBytes(VERY_START, [0xef, 0xef], MARK_1);
allowBytes(MARK_1, [0xbb, 0xbb], MARK_2);
allow(END, SPACES, END);

for (const state of [OUTER_FIRST_NAME, OUTER_NAME]) {
  allow(state, SPACES, state);
  allow(state, '"', BEGIN_NAME);
}
allow(OUTER_FIRST_NAME, "}", END_CONTAINER);
allowText(OUTER_NAME_TEXT, END_NAME);
allow(OUTER_COLON, SPACES, OUTER_COLON);
allow(OUTER_COLON, ":", OUTER_VALUE);
allowBytes(OUTER_VALUE, [0x00, 0xff], BEGIN_VALUE);
allow(OUTER_VALUE, SPACES, OUTER_VALUE);
allowBytes(OUTER_AFTER_NUMBER, [0x00, 0xff], END_NUMBER);
allowValue({
  begin: [OUTER_VALUE_HERE],
  text: OUTER_TEXT,
  end: END_VALUE,
  next: OUTER_AFTER_NUMBER,
});
allow(OUTER_NEXT, SPACES, OUTER_NEXT);
allow(OUTER_NEXT, ",", OUTER_NAME);
allow(OUTER_NEXT, "}", END_CONTAINER);

for (const state of [FIRST_NAME, NAME]) {
  allow(state, SPACES, state);
  allow(state, '"', NAME_TEXT);
}
allow(FIRST_NAME, "}", END_CONTAINER);
allowText(NAME_TEXT, END_INNER_NAME);
allow(COLON, SPACES, COLON);
allow(COLON, ":", MEMBER);
allow(NEXT_MEMBER, SPACES, NEXT_MEMBER);
allow(NEXT_MEMBER, ",", NAME);
allow(NEXT_MEMBER, "}", END_CONTAINER);
allowValue({
  begin: [MEMBER],
  text: MEMBER_TEXT,
  end: NEXT_MEMBER,
  next: NEXT_MEMBER,
});

allow(MEMBER, '"', allowMark(MEMBER_TEXT));

allow(NEXT_ELEMENT, SPACES, NEXT_ELEMENT);
allow(NEXT_ELEMENT, ",", ELEMENT);
allow(NEXT_ELEMENT, "]", END_CONTAINER);
allow(FIRST_ELEMENT, "]", END_CONTAINER);
allowValue({
  begin: [FIRST_ELEMENT, ELEMENT],
  text: ELEMENT_TEXT,
  end: NEXT_ELEMENT,
  next: NEXT_ELEMENT,
});

for (const state of [OUTER_VALUE_HERE, MEMBER, FIRST_ELEMENT, ELEMENT]) {
  allow(state, "{", BEGIN_OBJECT);
  allow(state, "[", BEGIN_ARRAY);
}

/** Returns true for a state in which only white space has been read. */
export function isBeforeDocument(state: number): boolean {
  return state === START || state === VERY_START;
}

/** Returns true when a byte is forbidden by UTF-8. Returns false when only the grammar of JSON forbids the byte. */
export function breaksCharacter(state: number, byte: number): boolean {
  const isText = state < TEXT_STATES || beforeMark.has(state);
  return isWithinCharacter(state) || isText && byte >= 0x80;
}

/** Returns true when all bytes read so far may be the start of a byte order mark. */
export function isWithinMark(state: number): boolean {
  return state === MARK_1 || state === MARK_2;
}

/** Returns true when `byte` completes a byte order mark. */
export function completesMark(state: number, byte: number): boolean {
  return state === MARK_2 && byte === 0xbf;
}
