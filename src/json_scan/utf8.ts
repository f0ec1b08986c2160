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
export type ByteStep<State> = readonly [
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
