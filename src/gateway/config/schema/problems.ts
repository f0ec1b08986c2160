import { z } from "zod";
import {
  type Findings,
  isMapping,
  nearest,
  type Path,
  suggestion,
  valueAt,
} from "@gateway/base/problems";
import { unwrap } from "./layers.ts";

const WORDS_BY_TYPE: Readonly<Record<string, string>> = {
  string: "text",
  number: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping",
  record: "a mapping",
};

interface ValidateOptions {
  readonly value: unknown;
  /** The path of the value in the file. */
  readonly path: Path;
  readonly findings: Findings;
  /** Stand-ins for missing or invalid values, by the required keys of the outermost mapping. */
  readonly placeholders?: Readonly<Record<string, unknown>>;
}

/**
 * Validates a value of the file and reports its problems. A message never quotes the value, because the value may be an
 * API key in the wrong place.
 *
 * @returns The parsed value. After a problem, the value is parsed without its invalid parts, so that later checks can
 * report further problems. `undefined` when the rest is invalid, too.
 */
export function validate<Output>(
  schema: z.ZodType<Output>,
  { value, path, findings, placeholders = {} }: ValidateOptions,
): Output | undefined {
  // Each file is read only once, so zod's compiled parsers would take longer to compile than they save.
  const result = schema.safeParse(value, { jitless: true });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const issuePath = pathOf(issue);
    const place = [...path, ...issuePath];
    if (issue.code === "unrecognized_keys") {
      const known = knownKeys(schema, issuePath);
      for (const key of issue.keys) {
        findings.problem([...place, key], unknownKeyMessage(key, known));
      }
    } else {
      findings.problem(place, messageOf(issue, valueAt(value, issuePath)));
    }
  }
  let again: z.ZodSafeParseResult<Output> = result;
  let rest = value;
  // A list without its items may be invalid, too, so there are two attempts. A connection with such a list is left out.
  for (let left = path[0] === "connections" ? 1 : 2; left > 0; left--) {
    const { issues } = again.error ?? { issues: [] };
    rest = { ...placeholders, ...withoutIssues(schema, rest, issues) };
    again = schema.safeParse(rest, { jitless: true });
  }
  return again.data;
}

/**
 * Keys of other programs, each with this program's key and a hint. The hint appears where this program's key is
 * allowed.
 */
const FOREIGN_KEYS: readonly (readonly [RegExp, key: string, words: string])[] =
  [
    [
      /^(base_?url|api_?base|api_?url|url|endpoint|host)$/i,
      "endpoints",
      "Write `endpoints: { chat: URL }`. If the address speaks another protocol, write `messages` or `responses`, not `chat`.",
    ],
    [
      /^(api_?key|key|token|secret|password)$/i,
      "auth",
      "Write `auth: { key_file: FILE }`, or `auth: { key: ... }`.",
    ],
    [/^(api_?key|token|secret|value)$/i, "key_file", 'Did you mean "key"?'],
    [
      /^(provider|type|vendor|azure|kind)$/i,
      "service",
      'Did you mean "service"?',
    ],
    [
      /^(model_list|providers?|upstreams?|backends?)$/i,
      "connections",
      'Did you mean "connections"?',
    ],
    [
      /^(users|keys|callers|virtual_keys)$/i,
      "tokens",
      'Did you mean "tokens"?',
    ],
  ];

/** Values of other programs, each with this program's value and a hint. */
const FOREIGN_VALUES:
  readonly (readonly [RegExp, option: string, words: string])[] = [
    [
      /^(azure[-_ ]?(openai|ai)|openai[-_ ]?azure)$/i,
      "azure",
      'Did you mean "azure"? It needs `resource`, the name in https://RESOURCE.openai.azure.com.',
    ],
    [
      /^(openai[-_ ]?(compatible|like|chat)|compatible|generic|other)$/i,
      "custom",
      "For a server that speaks Chat Completions, write `service: custom`, `family: A` and `endpoints: { chat: URL }`.",
    ],
  ];

/** Returns the hint for a key or a value that belongs to another program; `undefined` for other texts. */
function foreignWords(
  given: string,
  known: readonly string[],
  foreign: typeof FOREIGN_KEYS,
): string | undefined {
  const found = foreign.find(([form, target]) =>
    form.test(given) && known.includes(target)
  );
  return found?.[2];
}

/** Returns true for a key that is the end of a number: `000` in `{ tokens: 5,000 }`. */
export function isNumber(key: string): boolean {
  return /^\d{1,3}(\.\d+)?$/.test(key);
}

/** The message for a key that {@linkcode isNumber} accepts. */
export const NUMBER_KEY =
  "is a number in place of a key. A comma ends a value: write 5000, not 5,000.";

function unknownKeyMessage(key: string, known: readonly string[]): string {
  if (isNumber(key)) return NUMBER_KEY;
  if (key === "<<") {
    return "is not a key: YAML 1.2 has no merge keys. Write the keys out.";
  }
  const words = foreignWords(key, known, FOREIGN_KEYS);
  if (words !== undefined) return `is not a known key. ${words}`;
  const hint = suggestion(key, known) || `. Known here: ${known.join(", ")}.`;
  return `is not a known key${hint}`;
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (value === undefined) return "is missing.";
  if (value === null) return "has no value. Give one, or remove the key.";
  switch (issue.code) {
    case "invalid_type":
      return (typeof value === "string" && ownMessage(issue)) ||
        typeMessage(issue.expected, value);
    case "too_small":
      return issue.origin === "string" || issue.origin === "array"
        ? ownMessage(issue) ?? "must not be empty."
        : `must be at least ${issue.minimum}.`;
    case "too_big":
      return issue.origin === "string"
        ? `must not be longer than ${issue.maximum} characters.`
        : `must be at most ${issue.maximum}.`;
    case "invalid_value": {
      const own = ownMessage(issue);
      if (own !== undefined) return own;
      const options = issue.values.map(String);
      if (typeof value !== "string") {
        return `must be one of ${options.join(", ")}.`;
      }
      const hint = valueHint(value, options) || ".";
      return `must be one of ${options.join(", ")}${hint}`;
    }
    default:
      return issue.message;
  }
}

/** Returns `. Did you mean "x"?`, or the hint for a value of another program; an empty text when nothing is similar. */
export function valueHint(given: string, options: readonly string[]): string {
  const words = foreignWords(given, options, FOREIGN_VALUES);
  return words === undefined ? suggestion(given, options) : `. ${words}`;
}

/**
 * Returns the message of this program's schema; `undefined` for zod's messages. Only these begin with a capital letter.
 */
function ownMessage(issue: z.core.$ZodIssue): string | undefined {
  return /^[a-z]/.test(issue.message) ? issue.message : undefined;
}

function typeMessage(expected: string, value: unknown): string {
  const wanted = WORDS_BY_TYPE[expected] ?? expected;
  if (expected !== "string" && typeof value === "number") {
    return `must be ${wanted}.`;
  }
  const hint = expected === "string" && typeof value !== "object"
    ? '. Put it in quotes, such as "4.1".'
    : ".";
  return `must be ${wanted}, not ${wordFor(value)}${hint}`;
}

function wordFor(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  if (typeof value === "string") return "text";
  return typeof value === "number" ? "a number" : "true or false";
}

/** Returns the keys that a schema has at a path. Returns an empty list when the path leads to no mapping. */
function knownKeys(schema: z.ZodType, path: Path): readonly string[] {
  let place = unwrap(schema);
  for (const key of path) {
    const next = place instanceof z.ZodObject
      ? place.shape[key]
      : place instanceof z.ZodArray
      ? place.element
      : place instanceof z.ZodRecord
      ? place.valueType
      : undefined;
    if (next === undefined) return [];
    place = unwrap(next);
  }
  return place instanceof z.ZodObject ? Object.keys(place.shape) : [];
}

/**
 * Returns a mapping without the parts that have issues, so that the rest can be validated. A misspelt key is corrected,
 * so that the right key does not count as missing. A list with an issue becomes empty.
 */
function withoutIssues(
  schema: z.ZodType,
  value: unknown,
  issues: readonly z.core.$ZodIssue[],
): Record<string, unknown> {
  if (!isMapping(value)) return {};
  const rest = structuredClone(value);
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") {
      rename(rest, { schema, path: pathOf(issue), keys: issue.keys });
    } else {
      remove(rest, pathOf(issue));
    }
  }
  return rest;
}

/** Returns the path of an issue. Mappings in a file have no symbol keys. */
function pathOf(issue: z.core.$ZodIssue): readonly (string | number)[] {
  return issue.path.filter((key) => typeof key !== "symbol");
}

function rename(
  tree: unknown,
  { schema, path, keys }: {
    readonly schema: z.ZodType;
    readonly path: readonly (string | number)[];
    readonly keys: readonly string[];
  },
): void {
  const mapping = valueAt(tree, path);
  if (!isMapping(mapping)) return;
  const known = knownKeys(schema, path);
  for (const key of keys) {
    const meant = nearest(key, known);
    if (meant !== undefined) mapping[meant] ??= mapping[key];
    delete mapping[key];
  }
}

function remove(
  mapping: Record<string, unknown>,
  [key = "", ...deeper]: readonly (string | number)[],
): void {
  const child = mapping[key];
  if (deeper.length === 0) delete mapping[key];
  else if (isMapping(child)) remove(child, deeper);
  else if (Array.isArray(child)) mapping[key] = [];
}
