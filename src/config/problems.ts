import { closestString, levenshteinDistance } from "../core/std.ts";

/** Something in a configuration that is wrong, or (as a warning) probably not meant. */
export interface Problem {
  /** Where: `connections[0].models[1].upstream`, `line 3, column 5`, or empty for the whole file. */
  readonly path: string;
  /** What is wrong and what to do about it; it continues the path's sentence and holds no secret. */
  readonly message: string;
}

/** The way to a value in the file: keys of mappings and indices of lists. */
export type Path = readonly (string | number)[];

/** Collects what is found in a configuration, so that everything is reported at once. */
export interface Findings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  problem(path: Path, message: string): void;
  warn(path: Path, message: string): void;
}

const PLAIN_KEY_REGEXP = /^[\w-]+$/;
const SHOWN_CHARACTERS = 60;

/** Starts an empty collection. */
export function createFindings(): Findings {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  return {
    problems,
    warnings,
    problem: (path, message) =>
      void problems.push({ path: formatPath(path), message }),
    warn: (path, message) =>
      void warnings.push({ path: formatPath(path), message }),
  };
}

/** The same collection, which from now on takes only the first problem of each place. */
export function oncePerPlace(findings: Findings): Findings {
  const places = new Set(findings.problems.map(({ path }) => path));
  return {
    ...findings,
    problem(path, message) {
      const place = formatPath(path);
      if (!places.has(place)) findings.problem(path, message);
      places.add(place);
    },
  };
}

/** Writes a path as people write it: `connections[0].models[1].upstream`. */
export function formatPath(path: Path): string {
  return path.map((segment, index) => {
    if (typeof segment === "number") return `[${segment}]`;
    if (!PLAIN_KEY_REGEXP.test(segment)) return `[${quote(segment)}]`;
    return index === 0 ? segment : `.${segment}`;
  }).join("");
}

/** One line for people: the path, a colon, the message. */
export function formatProblem(problem: Problem): string {
  return `${problem.path === "" ? "file" : problem.path}: ${problem.message}`;
}

/** A name from the file in quotes: control characters escaped, cut where it is long. */
export function quote(name: string): string {
  const shown = name.length > SHOWN_CHARACTERS
    ? `${name.slice(0, SHOWN_CHARACTERS)}…`
    : name;
  return JSON.stringify(shown);
}

/**
 * The one of `options` that `given` is probably a slip of: a third of its letters may differ, or all be
 * there in another order. `undefined` when none is near.
 */
export function nearest(
  given: string,
  options: Iterable<string>,
): string | undefined {
  const edits = given.length < 3 ? 0 : Math.floor(given.length / 3);
  const similar = [...options].filter((option) =>
    Math.abs(option.length - given.length) <= edits
  );
  if (similar.length === 0) return undefined;
  const best = closestString(given, similar);
  const [one, other] = [given.toLowerCase(), best.toLowerCase()];
  const isNear = levenshteinDistance(one, other) <= edits ||
    sortLetters(one) === sortLetters(other);
  return isNear ? best : undefined;
}

/** Returns `. Did you mean "x"?`, or an empty text when no option is similar. */
export function suggestion(given: string, options: Iterable<string>): string {
  const near = nearest(given, options);
  return near === undefined ? "" : `. Did you mean ${quote(near)}?`;
}

function sortLetters(word: string): string {
  return [...word].sort().join("");
}

/** Whether a value of the file is a mapping. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The value at a path. Where the path goes on below a single value, that value: a text may stand for a
 * mapping, as a model's id does.
 */
export function valueAt(tree: unknown, path: Path): unknown {
  let found = tree;
  for (const key of path) {
    if (typeof found !== "object" || found === null) return found;
    found = Reflect.get(found, key);
  }
  return found;
}

/** The list under a key of any value; empty when there is none. */
export function listAt(value: unknown, key: string): readonly unknown[] {
  const list = isMapping(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}

/** The text under a key of any value. */
export function textAt(value: unknown, key: string): string | undefined {
  const text = isMapping(value) ? value[key] : undefined;
  return typeof text === "string" ? text : undefined;
}
