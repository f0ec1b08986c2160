import { wordList } from "@gateway/base/collections";
import { isJsonObject, type JsonValue } from "@gateway/base/json";

/*
 * An error may quote the request: the name of a tool or a property, or a message. The quoted text may look like an
 * error, so the quotation is cut out before the error is read.
 */

/** A word of an error or of a request's text. In a script without spaces, a word ends where Latin letters begin. */
const WORD_REGEXP = /[a-z0-9_$]+|[\u00aa-\u2025\u2027-\uffff]+/gi;

/** Escapes in the texts that providers quote, and the colors of a terminal. */
const ESCAPE_REGEXP = /\\[nrtbf]|&(?:#\d+|#x[0-9a-f]+|\w+);/gi;
const ENCODED_REGEXP = /(?:%[0-9a-f]{2})+/gi;
const COLOR_REGEXP = /(?:\p{Cc}|\\+(?:u001b|x1b|033))\[[\d;]{0,20}m/giu;

/** A mark where a provider has cut a text, perhaps within a word. */
const CUT_REGEXP = /…|\.{3}/;

/** The most words next to a cut that may match a part of a word. */
const MAX_CUTS = 16;

/** The fewest consecutive words that count as a quotation from the middle of a text. */
const QUOTED_WORDS = 3;

/**
 * The longest text that is always compared, in characters. A longer text is compared only if it contains a searched
 * name.
 */
const LONG_TEXT = 2000;

/** The most comparisons of two words. No real error of a provider needs so many comparisons. */
const MAX_COMPARISONS = 2_000_000;

/** An empty map of runs. Such a map has the length of each run, by the index of the run's last word in the message. */
const NO_RUNS: ReadonlyMap<number, number> = new Map();

/**
 * Returns an error's message with `…` in place of quotations from the request. A text of one word is cut out only if
 * the word matches `names`, because the caller may have sent any word of the message.
 *
 * @param sent The body that the provider refused.
 * @param names The names for which the message will be searched. A long text without such a name is not compared.
 * @returns "" when the message repeats too many words of the request to be compared.
 */
export function withoutQuotes(
  message: string,
  sent: JsonValue,
  names: RegExp,
): string {
  const plain = unescaped(message);
  const words = [...plain.matchAll(WORD_REGEXP)];
  const places = Map.groupBy(
    words.keys(),
    (at) => words[at]?.[0].toLowerCase() ?? "",
  );
  const cuts = cutsOf(plain, words);
  const isQuoted = new Uint8Array(words.length);
  let comparisons = 0;
  for (const text of textsIn(sent)) {
    const isShort = text.length <= LONG_TEXT && /[^\w$]/.test(text);
    if (!isShort && !names.test(text)) continue;
    const own = unescaped(text).toLowerCase().match(WORD_REGEXP) ?? [];
    let runs = NO_RUNS;
    for (let index = 0; index < own.length; index++) {
      const word = own[index] ?? "";
      const exact = places.get(word);
      const parts = cuts.filter((at) => isPartOf(word, words[at]?.[0]));
      const found = parts.length === 0 ? exact : parts.concat(exact ?? []);
      if (found === undefined) {
        runs = NO_RUNS;
        continue;
      }
      comparisons += found.length;
      if (comparisons > MAX_COMPARISONS) return "";
      const longer = new Map<number, number>();
      for (const at of found) {
        const length = 1 + (runs.get(at - 1) ?? 0);
        longer.set(at, length);
        const isEdge = index + 1 === own.length || index + 1 === length ||
          cuts.includes(at) || cuts.includes(at + 1 - length);
        const least = isEdge ? Math.min(2, own.length) : QUOTED_WORDS;
        if (length < least) continue;
        // In a longer run, all words but the last word are marked already.
        const fresh = length > QUOTED_WORDS ? 1 : length;
        isQuoted.fill(1, at + 1 - fresh, at + 1);
      }
      runs = longer;
    }
  }
  return cut(plain, words.filter((_, at) => isQuoted[at] === 1));
}

function isPartOf(whole: string, word = ""): boolean {
  const part = word.toLowerCase();
  return part !== whole && whole.includes(part);
}

/** Returns the indexes of the words next to the cuts of a message. Such a word may be incomplete. */
function cutsOf(text: string, words: readonly RegExpExecArray[]): number[] {
  if (!CUT_REGEXP.test(text)) return [];
  return [...words.keys()].filter((at) => {
    const { index = 0, 0: word = "" } = words[at] ?? {};
    const end = index + word.length;
    return CUT_REGEXP.test(text.slice(Math.max(0, index - 4), index)) ||
      CUT_REGEXP.test(text.slice(end, end + 4));
  }).slice(0, MAX_CUTS);
}

function cut(text: string, words: readonly RegExpExecArray[]): string {
  let rest = "";
  let end = 0;
  for (const { index, 0: word } of words) {
    rest += `${text.slice(end, index)}…`;
    end = index + word.length;
  }
  return rest + text.slice(end);
}

function unescaped(text: string): string {
  return /[\\&%]|\p{Cc}\[/u.test(text)
    ? text.replace(COLOR_REGEXP, "").replace(ENCODED_REGEXP, decoded)
      .replace(
        /\\+u([0-9a-f]{4})/gi,
        (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)),
      )
      .replace(ESCAPE_REGEXP, " ")
    : text;
}

/** Decodes a percent-encoded text; returns a space for an invalid text. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return " ";
  }
}

/** Fields whose value is an object with keys that the caller chose. */
const HOLDERS = wordList(`
  parameters input_schema schema metadata logit_bias arguments
`);

/** Fields whose values are words of the protocol. */
const PROTOCOL_WORDS = wordList("role type");

/** Yields the caller's texts in a body: all strings, and the keys that the caller chose. */
function* textsIn(
  value: JsonValue | undefined,
  key = "",
  isOwn = false,
): Generator<string> {
  if (typeof value === "string") {
    if (!PROTOCOL_WORDS.includes(key) || /\W/.test(value)) yield value;
  } else if (Array.isArray(value)) {
    for (const one of value) yield* textsIn(one, key, isOwn);
  } else if (isJsonObject(value)) {
    // `input` holds the arguments of a call or the list of items.
    const isInside = isOwn || HOLDERS.includes(key) ||
      key === "input" && value.type === undefined;
    for (const [name, inner] of Object.entries(value)) {
      if (isInside || /\W/.test(name)) yield name;
      yield* textsIn(inner, name, isInside);
    }
  }
}
