import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";

/** Returns a schema of function arguments that all upstreams accept: an object with properties and no `$schema`. */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  const { $schema: _dialect, ...rest } = schema ?? {};
  if (rest.type !== undefined && rest.type !== "object") return rest;
  const combined = "anyOf" in rest || "oneOf" in rest || "allOf" in rest ||
    "$ref" in rest;
  return {
    ...rest,
    type: "object",
    ...(rest.properties === undefined && !combined ? { properties: {} } : {}),
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
    isJsonObject(schema.properties) &&
    !isClosedObject(schema, schema.properties)
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
