import {
  CHARACTER_STEPS,
  type CharacterState,
  ESCAPED_LETTERS,
} from "./text.ts";

/** From here on, what the table gives is a step and no state. */
export const FIRST_STEP = 192;
/** The step of a byte that does not belong there. */
const FAULT = FIRST_STEP;

/**
 * So many states at the beginning of a character of a string; they are the lowest ones, so that they are soon told
 * from others.
 */
export const TEXT_STATES = 5;

const BYTES = 256;

/** What a byte leads to, at `state * 256 + byte`: a state, or a step that takes more than that. */
export const NEXT: Uint8Array = new Uint8Array(FIRST_STEP * BYTES).fill(FAULT);

let states = TEXT_STATES;

/** A state from which nothing leads on yet. */
function newState(): number {
  return states++;
}

/** A state from which everything leads on as it does from another. */
function newStateLike(other: number): number {
  const state = newState();
  NEXT.copyWithin(state * BYTES, other * BYTES, (other + 1) * BYTES);
  return state;
}

/** Characters of ASCII lead from a state to the next. */
function allow(state: number, characters: string, next: number): void {
  for (const character of characters) {
    NEXT[state * BYTES + character.charCodeAt(0)] = next;
  }
}

/** Bytes from the first to the last lead from a state to the next. */
function allowBytes(
  state: number,
  [first, last]: readonly [number, number],
  next: number,
): void {
  NEXT.fill(next, state * BYTES + first, state * BYTES + last + 1);
}

/** The white space of JSON. */
const SPACES = " \t\n\r";

const DIGITS_1_TO_9 = "123456789";
const DIGITS = `0${DIGITS_1_TO_9}`;
const HEX_DIGITS = `${DIGITS}abcdefABCDEF`;

/** States where a character of UTF-8 has begun and is not over. */
const withinCharacter = new Set<number>();

/** Whether a character of UTF-8 has begun and is not over. */
function isWithinCharacter(state: number): boolean {
  return withinCharacter.has(state);
}

/**
 * A string, from behind its opening quote.
 *
 * @param text The state at the beginning of its characters.
 * @param end What its closing quote leads to.
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
interface Place {
  /** The states in which it may begin. */
  readonly begin: readonly number[];
  readonly text: number;
  /** What the last byte of a string or a literal leads to. */
  readonly end: number;
  /** The state behind a number, whose bytes end it. */
  readonly next: number;
}

/** A value that is no container, and the white space before it. */
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

/*
 * The grammar of JSON (RFC 8259) over UTF-8 (table 3-7 of the Unicode standard) as a table: in a state, a byte leads
 * to the next state, or to a step that takes more than that. So a document can be read in pieces that end anywhere.
 *
 * Whatever may stand in several places has its states once for each: in the outermost object, whose members are
 * told of, in objects within, and in arrays. So most bytes need no look at what is around them.
 */

export const BEGIN_OBJECT = FIRST_STEP + 1;
export const BEGIN_ARRAY = FIRST_STEP + 2;
export const END_CONTAINER = FIRST_STEP + 3;
/** The quotes around the name of an outermost member. */
export const BEGIN_NAME = FIRST_STEP + 4;
export const END_NAME = FIRST_STEP + 5;
/** The first byte of an outermost member's value, which is to be read again. */
export const BEGIN_VALUE = FIRST_STEP + 6;
/** The last byte of one that is no container. */
export const END_VALUE = FIRST_STEP + 7;
/** The byte behind one that is a number, which is to be read again. */
export const END_NUMBER = FIRST_STEP + 8;

/** The closing quote of the name of a member within. */
export const END_INNER_NAME = FIRST_STEP + 9;

/** The name of an outermost member. */
export const OUTER_NAME_TEXT = 0;
const OUTER_TEXT = 1;
const NAME_TEXT = 2;
const MEMBER_TEXT = 3;
const ELEMENT_TEXT = 4;

/** Nothing at all has come; some put a byte order mark there. */
export const VERY_START: number = newState();
/** Nothing but space has come. */
const START = newState();
const MARK_1 = newState();
const MARK_2 = newState();
/** Behind the document. */
export const END: number = newState();

/** Behind the brace that opens the outermost object. */
export const OUTER_FIRST_NAME: number = newState();
const OUTER_NAME = newState();
export const OUTER_COLON: number = newState();
const OUTER_VALUE = newState();
/** A value of an outermost member begins with the next byte. */
export const OUTER_VALUE_HERE: number = newState();
const OUTER_BEHIND_NUMBER = newState();
/** Behind an outermost member. */
export const OUTER_NEXT: number = newState();

/** Behind the brace that opens an object within. */
export const FIRST_NAME: number = newState();
const NAME = newState();
export const COLON: number = newState();
const MEMBER = newState();
/** Behind a member of an object within. */
export const NEXT_MEMBER: number = newState();

/** Behind the bracket that opens an array. */
export const FIRST_ELEMENT: number = newState();
const ELEMENT = newState();
/** Behind an element of an array. */
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
allowBytes(OUTER_BEHIND_NUMBER, [0x00, 0xff], END_NUMBER);
allowValue({
  begin: [OUTER_VALUE_HERE],
  text: OUTER_TEXT,
  end: END_VALUE,
  next: OUTER_BEHIND_NUMBER,
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

/** Whether nothing but white space has come. */
export function isBeforeDocument(state: number): boolean {
  return state === START || state === VERY_START;
}

/** Whether a byte that does not belong there breaks a character of UTF-8, and not the grammar. */
export function breaksCharacter(state: number, byte: number): boolean {
  return isWithinCharacter(state) || (state < TEXT_STATES && byte >= 0x80);
}

/** Whether a byte order mark may be under way. */
export function isWithinMark(state: number): boolean {
  return state === MARK_1 || state === MARK_2;
}

/** Whether `byte` completes a byte order mark. */
export function completesMark(state: number, byte: number): boolean {
  return state === MARK_2 && byte === 0xbf;
}
