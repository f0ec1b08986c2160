import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";

import { resolve } from "./schema_reference.ts";

/**
 * The schema of a tool's input. Upstreams demand an object at its root and no choice between objects there:
 * such a choice becomes one object with the properties of all, of which those are required that all require.
 */
export function inputSchema(parameters: JsonObject | undefined): JsonObject {
  if (parameters === undefined) return { type: "object", properties: {} };
  const root = resolveRoot(parameters);
  const { anyOf, oneOf, allOf, ...rest } = root;
  const choices = [anyOf, oneOf].flatMap(schemasIn);
  const parts = schemasIn(allOf);
  if (choices.length === 0 && parts.length === 0) {
    return { ...rest, type: "object" };
  }
  const members = [rest, ...parts, ...choices];
  return {
    ...rest,
    type: "object",
    properties: Object.assign({}, ...members.map(propertiesOf)),
    required: [
      ...new Set([
        ...[rest, ...parts].flatMap(requiredOf),
        ...requiredByAll(choices),
      ]),
    ],
  };
}

/** The root itself, where it only refers to a definition inside. */
function resolveRoot(schema: JsonObject): JsonObject {
  if (typeof schema.$ref !== "string") return schema;
  const { $ref: _reference, ...rest } = schema;
  const target = resolve(schema.$ref, schema);
  return target === undefined || target.$ref !== undefined
    ? rest
    : { ...rest, ...target };
}

function schemasIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}

function requiredOf({ required }: JsonObject): JsonValue[] {
  return Array.isArray(required) ? required : [];
}

function requiredByAll(schemas: readonly JsonObject[]): JsonValue[] {
  const [first, ...others] = schemas.map(requiredOf);
  return (first ?? []).filter((name) =>
    others.every((names) => names.includes(name))
  );
}
