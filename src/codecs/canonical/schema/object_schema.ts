import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "@gateway/base/json";
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
 * its properties, and each list names the schema of its items. The upstream rejects other schemas with 400.
 */
export function isClosedSchema(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isClosedSchema);
  if (!isJsonObject(schema)) return true;
  if (
    (schema.type === "object" || isJsonObject(schema.properties)) &&
    !isClosedObject(schema, objectOf(schema.properties))
  ) return false;
  if (schema.type === "array" && !isNamed(schema.items)) return false;
  return Object.values(schema).every(isClosedSchema);
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
