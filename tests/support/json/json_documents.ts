import type { Random } from "../fakes/random.ts";

/** Options of {@linkcode randomJsonObject}. */
export interface JsonObjectOptions {
  /** Names to use at the top level and deeper, often with escapes and sometimes twice. */
  readonly keys: readonly string[];
}

/** Writes a random JSON object with odd white space, escapes, numbers and nesting. */
export function randomJsonObject(
  random: Random,
  options: JsonObjectOptions,
): string {
  const text = randomObject(random, { keys: options.keys, depth: 0 });
  return randomSpace(random) + text + randomSpace(random);
}

/** Returns `bytes` with one to three faults of a hostile or broken sender. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  let mutated = bytes;
  for (let count = random.pick([1, 1, 1, 2, 3]); count > 0; count--) {
    const start = random.below(mutated.length + 1);
    const end = Math.min(mutated.length, start + random.below(4));
    mutated = Uint8Array.from([
      ...mutated.subarray(0, start),
      ...randomInsertion(mutated, random),
      ...mutated.subarray(chance(random, 30) ? end : start),
    ]);
    if (chance(random, 5)) mutated = mutated.slice(0, random.below(200));
  }
  return mutated;
}

interface Place {
  readonly keys: readonly string[];
  readonly depth: number;
}

const MAX_DEPTH = 5;

function randomObject(random: Random, place: Place): string {
  const members = Array.from({ length: random.below(6) }, () => {
    const name = chance(random, 40)
      ? random.pick(place.keys)
      : randomText(random);
    const value = randomValue(random, { ...place, depth: place.depth + 1 });
    return spaced(random, [quote(name, random), ":", value]);
  });
  return spaced(random, ["{", members.join(","), "}"]);
}

function randomArray(random: Random, place: Place): string {
  const elements = Array.from(
    { length: random.below(5) },
    () =>
      spaced(random, [
        randomValue(random, { ...place, depth: place.depth + 1 }),
      ]),
  );
  return `[${elements.join(",") || randomSpace(random)}]`;
}

function randomValue(random: Random, place: Place): string {
  const isDeep = place.depth >= MAX_DEPTH;
  const kind = random.below(isDeep ? 6 : 10);
  if (kind < 3) return quote(randomText(random), random);
  if (kind < 5) return randomNumber(random);
  if (kind < 6) return random.pick(["true", "false", "null"]);
  return kind < 8 ? randomObject(random, place) : randomArray(random, place);
}

function randomNumber(random: Random): string {
  const digits = () => String(random.below(10 ** random.below(10)));
  const fraction = chance(random, 40) ? `.${random.pick(["", "00"])}` : "";
  const exponent = random.pick(["e", "E", "e+", "e-", "E-0"]);
  return random.pick(["", "-"]) + digits() +
    (fraction && fraction + digits()) +
    (chance(random, 30) ? exponent + digits() : "");
}

/** Texts whose bytes or escapes have broken parsers. */
const PIECES = [
  "",
  "a",
  "plain text of some length, with {brackets}, [more] and : and ,",
  "mode",
  '"',
  "\\",
  "\\u0065",
  "/",
  "\n\r\t\b\f",
  "\u0000\u001f",
  "\u007f\u0080\u07ff",
  "\u0800\u0fff\ud7ff\ue000\ufeff\uffff",
  "\u2028\u2029",
  "\u{10000}\u{3ffff}\u{40000}\u{10ffff}",
  "\ud800",
  "\udfff",
  "Привет, мир",
  "你好，世界",
  "👩🏽‍💻",
  "__proto__",
];

function randomText(random: Random): string {
  return Array.from({ length: random.below(4) }, () => random.pick(PIECES))
    .join("");
}

/** Quotes `text` with the escapes that JSON demands, and some that it allows. */
function quote(text: string, random: Random): string {
  const escapedPercent = random.pick([0, 0, 10, 100]);
  let quoted = "";
  for (const character of text) {
    quoted += chance(random, escapedPercent)
      ? escapeUnits(character, random)
      : JSON.stringify(character).slice(1, -1);
  }
  return `"${quoted}"`;
}

function escapeUnits(character: string, random: Random): string {
  if (character === "/" && chance(random, 50)) return "\\/";
  return Array.from({ length: character.length }, (_, index) => {
    const digits = character.charCodeAt(index).toString(16).padStart(4, "0");
    return `\\u${chance(random, 50) ? digits : digits.toUpperCase()}`;
  }).join("");
}

function spaced(random: Random, tokens: readonly string[]): string {
  return tokens.map((token) => randomSpace(random) + token).join("") +
    randomSpace(random);
}

function randomSpace(random: Random): string {
  if (chance(random, 80)) return "";
  return random.pick([" ", "\t", "\r\n", "\n", "\n    ", "         "]);
}

/** Byte sequences that a parser can mistake for others. */
const INSERTIONS: readonly (readonly number[])[] = [
  [],
  [0x00],
  [0x0b],
  [0x1f],
  [0x7f],
  [0x22],
  [0x5c],
  [0x5c, 0x75],
  [0x5c, 0x22],
  [0x2c],
  [0x3a],
  [0x5b],
  [0x5d],
  [0x7b],
  [0x7d],
  [0x2d],
  [0x2e],
  [0x30],
  [0x65],
  [0x20],
  [0x80],
  [0xbf],
  [0xc0, 0xaf],
  [0xc1, 0xbf],
  [0xc2],
  [0xc2, 0xa0],
  [0xe0, 0x9f, 0xbf],
  [0xe0, 0xa0, 0x80],
  [0xe2, 0x80],
  [0xed, 0x9f, 0xbf],
  [0xed, 0xa0, 0x80],
  [0xed, 0xb0, 0x80],
  [0xef, 0xbb, 0xbf],
  [0xf0, 0x8f, 0xbf, 0xbf],
  [0xf0, 0x90, 0x80, 0x80],
  [0xf4, 0x8f, 0xbf, 0xbf],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf5, 0x80, 0x80, 0x80],
  [0xff],
];

function randomInsertion(bytes: Uint8Array, random: Random): Iterable<number> {
  if (chance(random, 60)) return random.pick(INSERTIONS);
  if (chance(random, 30)) return [random.below(256)];
  const start = random.below(bytes.length + 1);
  return bytes.subarray(start, start + random.below(30));
}

/** Returns true in `percent` of 100 calls. */
function chance(random: Random, percent: number): boolean {
  return random.below(100) < percent;
}
