import { wordList, wordSet } from "@gateway/base/collections";
import { isJsonObject, type JsonValue, listOf } from "@gateway/base/json";
import { SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS } from "./keywords.ts";

const TYPES = wordSet("string number integer boolean object array null");

type Check = (value: JsonValue | undefined) => boolean;

/** The checks of keywords' values. A value that fails is left out. The keywords for drafts and places always fail. */
export const CHECKS: ReadonlyMap<string, Check> = new Map(
  ([
    [
      (value) => typeof value === "number",
      "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    ],
    [
      (value) => Number.isInteger(value) && Number(value) >= 0,
      `minLength maxLength minItems maxItems minProperties maxProperties
      minContains maxContains`,
    ],
    [
      (value) => typeof value === "string",
      `title description pattern format $ref $comment contentEncoding
      contentMediaType`,
    ],
    [
      (value) => typeof value === "boolean",
      "uniqueItems readOnly writeOnly deprecated",
    ],
    [(value) => listOf(value).length > 0, "enum examples"],
    [
      () => false,
      `$schema $id id $anchor $dynamicAnchor $dynamicRef $recursiveAnchor
      $recursiveRef $vocabulary`,
    ],
  ] satisfies [Check, string][]).flatMap(([check, words]) =>
    wordList(words).map((keyword) => [keyword, check])
  ),
);

/** The checks of a plain schema of draft 2020-12. Such a schema has no keywords that must be resolved or renamed. */
const PLAIN_CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...CHECKS,
  ...[...SCHEMAS].map((keyword): [string, Check] => [
    keyword,
    (value) => typeof value === "boolean" || isPlain(value),
  ]),
  ...[...SCHEMA_LISTS].map((keyword): [string, Check] => [
    keyword,
    (value) => listOf(value).length > 0 && listOf(value).every(isPlain),
  ]),
  ...[...SCHEMA_MAPS].map((keyword): [string, Check] => [
    keyword,
    (value) => isJsonObject(value) && Object.values(value).every(isPlain),
  ]),
  [
    "type",
    (value = null) =>
      [value].flat().length === [typesOf(value) ?? []].flat().length &&
      [value].flat().every((type) => TYPES.has(String(type))),
  ],
  [
    "required",
    (value) => Array.isArray(value) && namesOf(value)?.length === value.length,
  ],
  ...wordList(`
    $defs definitions dependencies additionalItems nullable dependentRequired
    $ref $dynamicRef $recursiveRef
  `).map((keyword): [string, Check] => [keyword, () => false]),
]);

/** Returns true for a schema of draft 2020-12 without references. Most tools have such a schema. */
export function isPlain(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false;
  const { type, items = true } = schema;
  if (items === true && (Array.isArray(type) || type === "array")) return false;
  return Object.keys(schema).every((keyword) =>
    PLAIN_CHECKS.get(keyword)?.(schema[keyword]) !== false
  );
}

/**
 * Returns the known types in lower case, because Google's SDKs write capitals. Returns `undefined` for a list with a
 * schema or `any`: draft 3 allows such a list.
 */
export function typesOf(value: JsonValue): JsonValue | undefined {
  const isOpen = Array.isArray(value) &&
    value.some((type) => isJsonObject(type) || type === "any");
  if (isOpen) return undefined;
  const known = [value].flat().map((type) => String(type).toLowerCase())
    .filter((type) => TYPES.has(type));
  return Array.isArray(value) && known.length > 0
    ? [...new Set(known)]
    : known[0];
}

/** Returns the strings of a list, each once. */
export function namesOf(value: JsonValue | undefined): JsonValue[] | undefined {
  return Array.isArray(value)
    ? [...new Set(value.filter((name) => typeof name === "string"))]
    : undefined;
}
