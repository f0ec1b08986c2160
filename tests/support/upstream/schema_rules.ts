import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";

const ROOT_WORDS = ["oneOf", "anyOf", "allOf", "enum", "not"];

/** Returns OpenAI's error for the arguments of a tool, strict or not; `undefined` when it accepts them. */
export function openAiSchemaFault(
  schema: JsonValue | undefined,
): string | undefined {
  if (schema === undefined) return undefined;
  if (!isJsonObject(schema) || schema.type !== "object") {
    return "schema must be a JSON Schema of 'type: \"object\"'";
  }
  if (ROOT_WORDS.some((word) => schema[word] !== undefined)) {
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
  }
  return isJsonObject(schema.properties)
    ? faultOfLists([schema])
    : "object schema missing properties.";
}

function faultOfLists(values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const fault = Array.isArray(value)
      ? faultOfLists(value)
      : isJsonObject(value)
      ? faultOfList(value) ?? faultOfLists(Object.values(value))
      : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfList({ type, items }: JsonObject): string | undefined {
  const isList = type === "array" ||
    Array.isArray(type) && type.includes("array");
  if (isList && items === undefined) return "array schema missing items.";
  return Array.isArray(items)
    ? "is not of type 'object', 'boolean'"
    : undefined;
}

const KEY_REGEXP = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Returns Claude's error for the input of a tool; `undefined` when it accepts it. It checks the root alone. */
export function claudeSchemaFault(schema: JsonObject): string | undefined {
  if (["oneOf", "anyOf", "allOf"].some((word) => schema[word] !== undefined)) {
    return "input_schema does not support oneOf, allOf, or anyOf at the top level";
  }
  const { properties } = schema;
  const keys = isJsonObject(properties) ? Object.keys(properties) : [];
  return keys.every((key) => KEY_REGEXP.test(key))
    ? undefined
    : "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'";
}
