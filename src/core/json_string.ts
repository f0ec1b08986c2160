import { failSyntax, JsonScanError } from "./json_scan_error.ts";

/** One body under two views: single bytes, and words of four. */
export interface JsonText {
  readonly bytes: Uint8Array;
  /** The same bytes. */
  readonly words: DataView;
}

const QUOTE = 0x22;
const LETTER_U = 0x75;
const HEX_DIGIT = new Uint8Array(256);
for (const c of "0123456789abcdefABCDEF") HEX_DIGIT[c.charCodeAt(0)] = 1;

const OFF: Record<string, number> = {
  "STOP": 0,
  "START": 6,
  "C1": 16,
  "C2": 1,
  "C3": 18,
  "ESC": 11,
  "ED": 19,
  "E0": 25,
  "F0": 24,
  "F4": 30,
};
const ROWS = new Int32Array(256);
function rule(state: string, from: number, to: number, next: string) {
  for (let b = from; b <= to; b++) ROWS[b] |= OFF[next] << OFF[state];
}
rule("START", 0x20, 0x21, "START");
rule("START", 0x23, 0x5b, "START");
rule("START", 0x5d, 0x7f, "START");
rule("START", 0x5c, 0x5c, "ESC");
for (const c of '"\\/bfnrt') {
  rule("ESC", c.charCodeAt(0), c.charCodeAt(0), "START");
}
rule("START", 0xc2, 0xdf, "C1");
rule("START", 0xe0, 0xe0, "E0");
rule("START", 0xe1, 0xec, "C2");
rule("START", 0xed, 0xed, "ED");
rule("START", 0xee, 0xef, "C2");
rule("START", 0xf0, 0xf0, "F0");
rule("START", 0xf1, 0xf3, "C3");
rule("START", 0xf4, 0xf4, "F4");
rule("C1", 0x80, 0xbf, "START");
rule("C2", 0x80, 0xbf, "C1");
rule("C3", 0x80, 0xbf, "C2");
rule("E0", 0xa0, 0xbf, "C1");
rule("ED", 0x80, 0x9f, "C1");
rule("F0", 0x90, 0xbf, "C2");
rule("F4", 0x80, 0x8f, "C2");
const START = 6, ESC = 11;

export function skipString(text: JsonText, start: number): number {
  const { bytes } = text;
  if (bytes[start] !== QUOTE) failSyntax(bytes, start);
  const position = skipPlain(text, start + 1);
  return bytes[position] === QUOTE ? position + 1 : skipRest(bytes, position);
}

function skipRest(bytes: Uint8Array, start: number): number {
  const end = bytes.length;
  let position = start;
  let state = START;
  for (;;) {
    for (; position < end; position++) {
      const next = (ROWS[bytes[position] ?? 0] ?? 0) >>> state;
      if ((next & 31) === 0) break;
      state = next;
    }
    const byte = bytes[position] ?? 0;
    state &= 31;
    if (state === START && byte === QUOTE) return position + 1;
    if (state !== ESC || byte !== LETTER_U) break;
    position = skipHex(bytes, position + 1);
    state = START;
  }
  if (state === START || state === ESC || position === end) {
    failSyntax(bytes, position);
  }
  failEncoding(position);
}

/** Skips what needs no second look: ASCII but for quotes, backslashes and control characters. */
function skipPlain({ bytes, words }: JsonText, start: number): number {
  const lastWord = bytes.length - 4;
  let position = start;
  for (; position <= lastWord; position += 4) {
    const marks = markSpecial(words.getInt32(position, true));
    if (marks !== 0) return position + firstMarked(marks);
  }
  return position;
}

function markSpecial(word: number): number {
  return (word | (word - 0x20202020) | ((word ^ 0x22222222) - 0x01010101) |
    ((word ^ 0x5c5c5c5c) - 0x01010101)) & 0x80808080;
}

function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

function skipHex(bytes: Uint8Array, start: number): number {
  const end = start + 4;
  for (let position = start; position < end; position++) {
    if (HEX_DIGIT[bytes[position] ?? 0] !== 1) failSyntax(bytes, position);
  }
  return end;
}

function failEncoding(offset: number): never {
  throw new JsonScanError("encoding", `invalid UTF-8 at offset ${offset}`, {
    offset,
  });
}
