/** An error in a configuration, or (as a warning) a probable mistake. */
export interface Problem {
  /** The location, such as `connections[0].models[1].upstream` or `line 3, column 5`. Empty for the whole file. */
  readonly path: string;
  /**
   * The location for people, with the file, the entry's name and the line: `tokens[37] "bob".sha256, line 212`. Default:
   * the path.
   */
  readonly place?: string;
  /** The problem and its remedy, as the rest of a sentence that begins with the path. The message holds no secret. */
  readonly message: string;
}

/** The path to a value in the file: keys of mappings and indices of lists. */
export type Path = readonly (string | number)[];

/** Collects the problems and warnings of a configuration, so that they are reported together. */
export interface Findings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  problem(path: Path, message: string): void;
  warn(path: Path, message: string): void;
  /** Returns the path, file and line of a value, so that a message about another value can refer to it. */
  placeOf(path: Path): string;
}

/** A part of the file, and the findings about this part. */
export interface Located {
  readonly path: Path;
  readonly findings: Findings;
}

/** Names the places in the files of a configuration. */
export interface Places {
  /** Returns the location for people, as in {@linkcode Problem.place}. */
  full(path: Path): string;
  /** Returns the location without the entry's name, so that a message about another entry can refer to it. */
  brief(path: Path): string;
}

/** Gives each location as its path alone, without names and lines. */
const PATHS: Places = { full: formatPath, brief: formatPath };

const PLAIN_KEY_REGEXP = /^[\w-]+$/;
const SHOWN_CHARACTERS = 60;

/**
 * Creates an empty collection.
 *
 * @param places Default: paths alone.
 */
export function createFindings(places: Places = PATHS): Findings {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  return {
    problems,
    warnings,
    problem: (path, message) =>
      void problems.push({ ...placed(path, places), message }),
    warn: (path, message) =>
      void warnings.push({ ...placed(path, places), message }),
    placeOf: places.brief,
  };
}

function placed(path: Path, { full }: Places): Pick<Problem, "path" | "place"> {
  const written = formatPath(path);
  const place = full(path);
  return place === written ? { path: written } : { path: written, place };
}

/** Returns a view of a collection. The view adds a problem only if the collection has none at the same path. */
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

/**
 * Returns a function that notes the place of a key, and returns true for a new key. A key that another place has is a
 * problem of the place, or of a field there.
 *
 * @param message Returns the message from the other place.
 */
export function createClaims(
  findings: Findings,
  message: (other: string) => string,
): (key: string, path: Path, field?: string) => boolean {
  const pathByKey = new Map<string, Path>();
  return (key, path, field) => {
    const first = pathByKey.get(key);
    if (first === undefined) pathByKey.set(key, path);
    else {
      const place = field === undefined ? path : [...path, field];
      findings.problem(place, message(findings.placeOf(first)));
    }
    return first === undefined;
  };
}

/** Formats a path for people: `connections[0].models[1].upstream`. */
export function formatPath(path: Path): string {
  return path.map((segment, index) => {
    if (typeof segment === "number") return `[${segment}]`;
    if (!PLAIN_KEY_REGEXP.test(segment)) return `[${quote(segment)}]`;
    return index === 0 ? segment : `.${segment}`;
  }).join("");
}

/** Formats a problem as one line: the place, a colon, the message. */
export function formatProblem(
  { path, place = path, message }: Problem,
): string {
  return `${place === "" ? "file" : place}: ${message}`;
}

/** Quotes a name from the file, escapes control characters and cuts a long name. */
export function quote(name: string): string {
  const shown = name.length > SHOWN_CHARACTERS
    ? `${name.slice(0, SHOWN_CHARACTERS)}…`
    : name;
  return JSON.stringify(shown);
}

/**
 * Returns the option that `given` probably misspells, or `undefined`. Up to a third of the letters may differ, or the
 * letters may be in another order.
 */
export function nearest(
  given: string,
  options: Iterable<string>,
): string | undefined {
  const most = given.length < 3 ? 0 : Math.floor(given.length / 3);
  const wanted = given.toLowerCase();
  const [best] = [...options].filter((option) =>
    Math.abs(option.length - given.length) <= most
  ).map((option) => {
    const found = option.toLowerCase();
    const isMixed = sortLetters(wanted) === sortLetters(found);
    return { option, isMixed, edits: editsBetween(wanted, found) };
  }).sort((one, other) => one.edits - other.edits);
  return best !== undefined && (best.edits <= most || best.isMixed)
    ? best.option
    : undefined;
}

/**
 * Returns the Levenshtein distance of two texts: how many letters to add, remove or replace. Loading a library for it
 * would slow each start of `login`.
 */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const letter of one) {
    const next = [(row[0] ?? 0) + 1];
    [...other].forEach((theirs, at) => {
      const replaced = (row[at] ?? 0) + (letter === theirs ? 0 : 1);
      const [left = 0, above = 0] = [next[at], row[at + 1]];
      next.push(Math.min(replaced, left + 1, above + 1));
    });
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Returns `. Did you mean "x"?`, or an empty text when no option is similar. */
export function suggestion(given: string, options: Iterable<string>): string {
  const near = nearest(given, options);
  return near === undefined ? "" : `. Did you mean ${quote(near)}?`;
}

function sortLetters(word: string): string {
  return [...word].sort().join("");
}

/** Returns true when a value is a mapping. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the value at a path. If the path continues below a scalar, returns that scalar: the file may have a text in
 * place of a mapping, for example only a model's id.
 */
export function valueAt(tree: unknown, path: Path): unknown {
  let found = tree;
  for (const key of path) {
    if (typeof found !== "object" || found === null) return found;
    found = Reflect.get(found, key);
  }
  return found;
}

/** Returns the list under a key of a mapping. Returns an empty list if `value` is no mapping or has no such list. */
export function listAt(value: unknown, key: string): readonly unknown[] {
  const list = isMapping(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}

/** Returns the text under a key of a mapping. Returns `undefined` if `value` is no mapping or has no such text. */
export function textAt(value: unknown, key: string): string | undefined {
  const text = isMapping(value) ? value[key] : undefined;
  return typeof text === "string" ? text : undefined;
}
