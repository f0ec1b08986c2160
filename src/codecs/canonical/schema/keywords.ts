import { wordSet } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";

/** Keywords whose value is a schema. Up to draft 2019-09, `items` may be a list. */
export const SCHEMAS = wordSet(`
  items additionalItems unevaluatedItems contains additionalProperties
  unevaluatedProperties propertyNames contentSchema not if then else
`);

/** Keywords whose value is a list of schemas. */
export const SCHEMA_LISTS = wordSet("prefixItems anyOf oneOf allOf");

/** Keywords whose value maps names to schemas. */
export const SCHEMA_MAPS = wordSet(`
  properties patternProperties dependentSchemas dependencies $defs definitions
`);

/** Returns a changed copy of one schema, or the same object when nothing changes. */
type SchemaEdit = (schema: JsonObject) => JsonObject;

/**
 * Returns a schema after `edit` has changed the schema and every schema inside it, outer schemas first. A property name
 * or an example that looks like a keyword does not change.
 *
 * @returns The same object when nothing changed.
 */
export function mapSchemas(schema: JsonObject, edit: SchemaEdit): JsonObject {
  return mapInside(edit(schema), (inner) => mapSchemas(inner, edit));
}

/** Returns a schema after `edit` has changed the schemas directly in it; the same object when nothing changed. */
export function mapInside(schema: JsonObject, edit: SchemaEdit): JsonObject {
  return mapFields(schema, (value, keyword) => {
    if (SCHEMAS.has(keyword) || SCHEMA_LISTS.has(keyword)) {
      return Array.isArray(value)
        ? mapList(value, edit)
        : mapValue(value, edit);
    }
    return SCHEMA_MAPS.has(keyword) && isJsonObject(value)
      ? mapFields(value, (one) => mapValue(one, edit))
      : value;
  });
}

function mapFields(
  object: JsonObject,
  edit: (value: JsonValue | undefined, name: string) => JsonValue | undefined,
): JsonObject {
  const fields = Object.entries(object);
  const edited = fields.map(([name, value]) => edit(value, name));
  return edited.every((value, index) => value === fields[index]?.[1])
    ? object
    : Object.fromEntries(fields.map(([name], index) => [name, edited[index]]));
}

function mapValue<Value extends JsonValue | undefined>(
  value: Value,
  edit: SchemaEdit,
): Value | JsonObject {
  return isJsonObject(value) ? edit(value) : value;
}

function mapList(list: JsonValue[], edit: SchemaEdit): JsonValue {
  const fitted = list.map((one) => mapValue(one, edit));
  return fitted.some((one, index) => one !== list[index]) ? fitted : list;
}

/** Returns a schema with `words` added to its description. */
export function withDescription(schema: JsonObject, words: string): JsonObject {
  const { description } = schema;
  return {
    ...schema,
    description: typeof description === "string" && description !== ""
      ? `${description}\n\n${words}`
      : words,
  };
}
