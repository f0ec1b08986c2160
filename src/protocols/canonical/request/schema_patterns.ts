import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { Loss } from "./loss.ts";
import { isPortablePattern } from "./portable_pattern.ts";

/** Keywords whose value is a schema, or a list of schemas. */
const SCHEMAS: readonly string[] = [
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
];

/** Keywords whose value maps names to schemas. */
const SCHEMA_MAPS: readonly string[] = [
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
];

/**
 * Returns `schema` as {@linkcode withPortablePatterns} does, and reports moved patterns.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function movePatterns(
  schema: JsonObject,
  losses: { reportDropped(loss: Loss): void },
): JsonObject {
  const fitted = withPortablePatterns(schema);
  if (fitted !== schema) {
    losses.reportDropped({
      field: { extra: "pattern" },
      weight: "report",
      reason: "this model's provider cannot compile that regular expression",
    });
  }
  return fitted;
}

/**
 * Moves patterns that some engines cannot compile into the descriptions beside them, where the model reads them.
 * Property names and examples that look like the keyword stay.
 *
 * @returns The same object when it has no such pattern.
 */
function withPortablePatterns(schema: JsonObject): JsonObject {
  const changes: [string, JsonValue | undefined][] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const fitted = fitKeyword(keyword, value);
    if (fitted !== value) changes.push([keyword, fitted]);
  }
  const fitted = changes.length === 0
    ? schema
    : { ...schema, ...Object.fromEntries(changes) };
  return withoutPatternNames(withoutPattern(fitted));
}

function fitKeyword(
  keyword: string,
  value: JsonValue | undefined,
): JsonValue | undefined {
  if (SCHEMAS.includes(keyword)) {
    return Array.isArray(value) ? fitList(value) : fitValue(value);
  }
  return SCHEMA_MAPS.includes(keyword) && isJsonObject(value)
    ? fitMap(value)
    : value;
}

function fitValue<Value extends JsonValue | undefined>(
  value: Value,
): Value | JsonObject {
  return isJsonObject(value) ? withPortablePatterns(value) : value;
}

function fitList(list: JsonValue[]): JsonValue {
  const fitted = list.map(fitValue);
  return fitted.some((one, index) => one !== list[index]) ? fitted : list;
}

function fitMap(map: JsonObject): JsonObject {
  const fitted = Object.entries(map).map(([name, value]) =>
    [name, fitValue(value)] as const
  );
  return fitted.some(([name, value]) => value !== map[name])
    ? Object.fromEntries(fitted)
    : map;
}

function withoutPattern(schema: JsonObject): JsonObject {
  const { pattern, ...rest } = schema;
  if (typeof pattern !== "string" || isPortablePattern(pattern)) return schema;
  return withDescription(rest, `Must match the regular expression ${pattern}`);
}

/**
 * Moves name patterns that are not portable into the description. It then removes `additionalProperties: false`, which
 * would forbid the properties of a moved pattern.
 */
function withoutPatternNames(schema: JsonObject): JsonObject {
  const { patternProperties } = schema;
  if (!isJsonObject(patternProperties)) return schema;
  const all = Object.entries(patternProperties);
  const kept = all.filter(([pattern]) => isPortablePattern(pattern));
  if (kept.length === all.length) return schema;
  const { patternProperties: _all, additionalProperties, ...rest } = schema;
  const moved = all.filter((one) => !kept.includes(one)).map((
    [pattern, value],
  ) => `${pattern}: ${JSON.stringify(value)}`);
  return withDescription(
    {
      ...rest,
      ...(kept.length === 0
        ? {}
        : { patternProperties: Object.fromEntries(kept) }),
      ...(additionalProperties === undefined || additionalProperties === false
        ? {}
        : { additionalProperties }),
    },
    `Properties whose names match a regular expression: ${moved.join(", ")}`,
  );
}

function withDescription(schema: JsonObject, words: string): JsonObject {
  const { description } = schema;
  return {
    ...schema,
    description: typeof description === "string" && description !== ""
      ? `${description}\n\n${words}`
      : words,
  };
}
