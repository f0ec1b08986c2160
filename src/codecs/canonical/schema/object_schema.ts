import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
} from "@gateway/base/json";
import { mapInside } from "./keywords.ts";
import { normalSchema } from "./normal_schema.ts";
import { followRoot } from "./root_object.ts";

/** Returns a schema of function arguments that all upstreams accept: an object with properties, in draft 2020-12. */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  const normal = followRoot(normalSchema(schema ?? {}));
  const { type, properties } = normal;
  const isWhole = properties !== undefined && type === "object";
  if (isWhole || type !== undefined && type !== "object") return normal;
  const combined = "anyOf" in normal || "oneOf" in normal ||
    "allOf" in normal || "$ref" in normal;
  return {
    ...normal,
    type: "object",
    ...(properties === undefined && !combined ? { properties: {} } : {}),
  };
}

/**
 * Returns true when an OpenAI-style upstream accepts `strict` with the schema: each object is closed and requires all
 * its properties, each list names the schema of its items, and the whole is within OpenAI's limits. The upstream
 * rejects other schemas with 400.
 */
export function isClosedSchema(schema: JsonValue | undefined): boolean {
  return isClosed(schema) && (!isJsonObject(schema) || isWithinLimits(schema));
}

/**
 * Returns true when a schema has at most 5,000 properties, 10 levels of objects, 1,000 values of enums, 120,000
 * characters of names and values, and 15,000 in an enum of more than 250 values
 * (https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas).
 */
function isWithinLimits(schema: JsonObject): boolean {
  let [properties, values, characters] = [0, 0, 0];
  let isFine = true;
  const read = (one: JsonObject, above: number): JsonObject => {
    const names = Object.keys(objectOf(one.properties));
    const choices = listOf(one.enum);
    const length = choices.join("").length;
    const level = names.length > 0 ? above + 1 : above;
    properties += names.length;
    values += choices.length;
    characters += length +
      [...names, ...Object.keys(objectOf(one.$defs)), one.const].join("")
        .length;
    isFine &&= level <= 10 && (choices.length <= 250 || length <= 15_000);
    return mapInside(one, (inner) => read(inner, level));
  };
  read(schema, 0);
  return isFine && properties <= 5_000 && values <= 1_000 &&
    characters <= 120_000;
}

function isClosed(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isJsonObject(schema)) return true;
  if (
    (schema.type === "object" || isJsonObject(schema.properties)) &&
    !isClosedObject(schema, objectOf(schema.properties))
  ) return false;
  if (schema.type === "array" && !isNamed(schema.items)) return false;
  return Object.values(schema).every(isClosed);
}

function isNamed(items: JsonValue | undefined): boolean {
  return isJsonObject(items) && Object.keys(items).length > 0;
}

function isClosedObject(schema: JsonObject, properties: JsonObject): boolean {
  const { required } = schema;
  return schema.additionalProperties === false &&
    Object.keys(properties).every((key) =>
      Array.isArray(required) && required.includes(key)
    );
}
