/** The characters after a backslash that form an escape in all regular expression engines. */
const KNOWN_ESCAPE = /^(?:[dDwWsSnrtfv]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|0(?!\d))/;

/** Further characters that form an escape in all engines, but only outside of a character class. */
const KNOWN_ASSERTION = /^[bB]/;

/** A character that a backslash makes literal: any but letters, digits and the underscore. */
const LITERAL_ESCAPE = /^[^A-Za-z0-9_]/u;

/** The start of a group that is not a lookaround. Python names groups with a `P`. */
const KNOWN_GROUP = /^\((?:\?(?::|P<[A-Za-z_]\w*>))?(?!\?)/;

/** An escape for a set of characters. Such an escape can neither begin nor end a range. */
const SET = /^\\[dDwWsS]/;

/** The longest pattern to check, in characters, to limit the time. Real patterns are shorter. */
const MAX_PATTERN = 10_000;

/** The longest token except a class, in characters. A group with a longer name is not portable. */
const MAX_TOKEN = 80;

/**
 * Returns true when JavaScript, Python and engines without backtracking all compile a JSON schema's pattern: it has no
 * Unicode properties, lookarounds or backreferences. Returns false when in doubt.
 */
export function isPortablePattern(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN) return false;
  for (let at = 0; at < pattern.length;) {
    const length = tokenLength(pattern, at);
    if (length === undefined) return false;
    at += length;
  }
  return compiles(pattern);
}

/** One part of a pattern from which llama.cpp makes a grammar: a character, an escape or a class. */
const GRAMMAR_PART = String
  .raw`[^\\[\]^$]|\\(?:[$.[\]()|{}*+?\\"nrt^]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4})|\[\^?(?:[^\\\]]|\\(?:[[\]\\"nrt]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}))+\]`;

const GRAMMAR_REGEXP = new RegExp(`^\\^(?:${GRAMMAR_PART})+\\$$`);

/**
 * Returns true when llama.cpp makes a valid grammar of a pattern: it is portable and anchored at both ends, without
 * `\d`, `\w`, lazy repetitions and groups that begin with `?`.
 */
export function isGrammarPattern(pattern: string): boolean {
  if (!isPortablePattern(pattern) || !GRAMMAR_REGEXP.test(pattern)) {
    return false;
  }
  const bare = pattern.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "x");
  if (/\(\?|[*+?}][?+]/.test(bare)) return false;
  let depth = 0;
  for (const one of bare) {
    if (one === "(") depth++;
    if (one === ")") depth--;
    // With a `|` outside of a group, each alternative has only one of the two anchors.
    if (one === "|" && depth === 0) return false;
  }
  return true;
}

/** Returns true when parentheses, repetitions and ranges are valid. */
function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern.replaceAll("(?P<", "(?<"));
    return true;
  } catch {
    return false;
  }
}

/** Returns the length of the token at `at`, in characters; `undefined` when some engine does not know the token. */
function tokenLength(pattern: string, at: number): number | undefined {
  const rest = pattern.slice(at, at + MAX_TOKEN);
  switch (rest[0]) {
    case "\\":
      return escapeLength(rest, [
        KNOWN_ESCAPE,
        KNOWN_ASSERTION,
        LITERAL_ESCAPE,
      ]);
    case "[":
      return classLength(pattern, at);
    case "(":
      return KNOWN_GROUP.exec(rest)?.[0].length;
    case "{":
      // Only Python accepts a repetition without a minimum.
      return rest[1] === "," ? undefined : 1;
    default:
      return 1;
  }
}

function escapeLength(
  rest: string,
  known: readonly RegExp[],
): number | undefined {
  const escaped = rest.slice(1);
  for (const one of known) {
    const match = one.exec(escaped);
    if (match !== null) return 1 + match[0].length;
  }
  return undefined;
}

/**
 * Returns the length of the class at `start`; `undefined` when the class is not portable. A class that begins with `]`
 * is not portable, because Python reads that `]` as a member of the class.
 */
function classLength(pattern: string, start: number): number | undefined {
  let at = start + (pattern[start + 1] === "^" ? 2 : 1);
  if (pattern[at] === "]") return undefined;
  // The kind of the last member. Only a single character may begin a range.
  let last: "none" | "single" | "set" | "range" = "none";
  while (at < pattern.length) {
    if (pattern[at] === "]") return at + 1 - start;
    const isDash: boolean = pattern[at] === "-" && last !== "none" &&
      pattern[at + 1] !== "]";
    if (isDash) {
      if (last !== "single") return undefined;
      at++;
    }
    const rest = pattern.slice(at, at + MAX_TOKEN);
    const length = rest[0] === "\\"
      ? escapeLength(rest, [KNOWN_ESCAPE, LITERAL_ESCAPE])
      : [...rest][0]?.length;
    if (length === undefined) return undefined;
    const isSet = SET.test(rest);
    if (isDash && isSet) return undefined;
    last = isDash ? "range" : isSet ? "set" : "single";
    at += length;
  }
  return undefined;
}
