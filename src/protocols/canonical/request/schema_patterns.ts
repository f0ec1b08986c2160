import { wordList } from "../../../core/collections.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from "../../../core/json.ts";
import type { LossReport } from "./loss.ts";
import { isPortablePattern } from "./portable_pattern.ts";

/** Keywords whose value is a schema, or a list of schemas. */
const SCHEMAS: readonly string[] = wordList(`
  items prefixItems additionalItems unevaluatedItems contains
  additionalProperties unevaluatedProperties propertyNames anyOf oneOf allOf not
  if then else
`);

/** Keywords whose value maps names to schemas. */
const SCHEMA_MAPS: readonly string[] = wordList(
  "properties patternProperties dependentSchemas $defs definitions",
);

/**
 * Returns a schema that OpenAI accepts. Patterns that its engines cannot compile move into the descriptions beside them,
 * where the model reads them, and are reported. Property names and examples that look like the keyword stay.
 *
 * Each list gets a schema of its items, and a list of schemas in `items` becomes `prefixItems`: "array schema missing
 * items", "is not of type 'object', 'boolean'".
 *
 * @returns The same object when it has no such pattern.
 * @throws {GatewayError} When the connection is strict.
 */
export function fitOpenAiSchema(
  schema: JsonObject,
  losses: LossReport,
): JsonObject {
  const fitted = mapSchemas(schema, withPortablePatterns);
  if (fitted !== schema) {
    losses.reportDropped(
      { extra: "pattern" },
      "this model's provider cannot compile that regular expression",
    );
  }
  return mapSchemas(fitted, withItems);
}

function withPortablePatterns(schema: JsonObject): JsonObject {
  return withoutPatternNames(withoutPattern(schema));
}

function withItems(schema: JsonObject): JsonObject {
  const { type, items, additionalItems, ...rest } = schema;
  if (Array.isArray(items)) {
    return {
      ...rest,
      ...present({ type }),
      prefixItems: items,
      items: additionalItems ?? {},
    };
  }
  const isList = type === "array" ||
    Array.isArray(type) && type.includes("array");
  return isList && items === undefined ? { ...schema, items: {} } : schema;
}

/** Changes one schema; returns the same object when it has nothing to change. */
type SchemaEdit = (schema: JsonObject) => JsonObject;

/**
 * Returns a schema after `edit` has changed it and every schema in it, the inner ones first. Property names and
 * examples that look like a keyword stay.
 *
 * @returns The same object when nothing changed.
 */
export function mapSchemas(schema: JsonObject, edit: SchemaEdit): JsonObject {
  const changes: [string, JsonValue | undefined][] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const fitted = mapKeyword(keyword, value, edit);
    if (fitted !== value) changes.push([keyword, fitted]);
  }
  return edit(
    changes.length === 0
      ? schema
      : { ...schema, ...Object.fromEntries(changes) },
  );
}

function mapKeyword(
  keyword: string,
  value: JsonValue | undefined,
  edit: SchemaEdit,
): JsonValue | undefined {
  if (SCHEMAS.includes(keyword)) {
    return Array.isArray(value) ? mapList(value, edit) : mapValue(value, edit);
  }
  return SCHEMA_MAPS.includes(keyword) && isJsonObject(value)
    ? mapMap(value, edit)
    : value;
}

function mapValue<Value extends JsonValue | undefined>(
  value: Value,
  edit: SchemaEdit,
): Value | JsonObject {
  return isJsonObject(value) ? mapSchemas(value, edit) : value;
}

function mapList(list: JsonValue[], edit: SchemaEdit): JsonValue {
  const fitted = list.map((one) => mapValue(one, edit));
  return fitted.some((one, index) => one !== list[index]) ? fitted : list;
}

function mapMap(map: JsonObject, edit: SchemaEdit): JsonObject {
  const fitted = Object.entries(map).map(([name, value]) =>
    [name, mapValue(value, edit)] as const
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

/** Returns a schema with further words in its description. */
export function withDescription(schema: JsonObject, words: string): JsonObject {
  const { description } = schema;
  return {
    ...schema,
    description: typeof description === "string" && description !== ""
      ? `${description}\n\n${words}`
      : words,
  };
}
