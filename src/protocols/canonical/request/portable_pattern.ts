/** What comes after a backslash in the expressions of every language. */
const KNOWN_ESCAPE = /^(?:[dDwWsSnrtfv]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|0(?!\d))/;

/** The same outside of a class. */
const KNOWN_ASSERTION = /^[bB]/;

/** A backslash takes the meaning of everything that is no letter, digit or underscore. */
const SIGN = /^[^A-Za-z0-9_]/u;

/** How a group may begin that looks neither ahead nor behind; Python names groups with a `P`. */
const KNOWN_GROUP = /^\((?:\?(?::|P<[A-Za-z_]\w*>))?(?!\?)/;

/** A class that stands for many characters, with which no range begins or ends. */
const SET = /^\\[dDwWsS]/;

/** Longer than any pattern that people write, in characters; what takes a caller's time must have an end. */
const MAX_PATTERN = 10_000;

/** Longer than any token but a class, in characters; a longer name of a group is refused. */
const MAX_TOKEN = 80;

/**
 * Whether a pattern of a JSON schema is written in what JavaScript, Python and engines without backtracking all
 * understand: no Unicode properties, no looking ahead or behind, no references to groups. It errs towards no.
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

/** Whether parentheses, repetitions and ranges fit. */
function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern.replaceAll("(?P<", "(?<"));
    return true;
  } catch {
    return false;
  }
}

/** The length of the token at `at`, in characters; `undefined` for one that not all know. */
function tokenLength(pattern: string, at: number): number | undefined {
  const rest = pattern.slice(at, at + MAX_TOKEN);
  switch (rest[0]) {
    case "\\":
      return escapeLength(rest, [KNOWN_ESCAPE, KNOWN_ASSERTION, SIGN]);
    case "[":
      return classLength(pattern, at);
    case "(":
      return KNOWN_GROUP.exec(rest)?.[0].length;
    case "{":
      // Only Python reads a repetition without a least number as one.
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

/** The length of the class at `start`. Python takes a bracket at its beginning for a member. */
function classLength(pattern: string, start: number): number | undefined {
  let at = start + (pattern[start + 1] === "^" ? 2 : 1);
  if (pattern[at] === "]") return undefined;
  // What the last member is: with a single one a range may begin.
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
      ? escapeLength(rest, [KNOWN_ESCAPE, SIGN])
      : [...rest][0]?.length;
    if (length === undefined) return undefined;
    const isSet = SET.test(rest);
    if (isDash && isSet) return undefined;
    last = isDash ? "range" : isSet ? "set" : "single";
    at += length;
  }
  return undefined;
}
