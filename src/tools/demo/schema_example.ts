import {
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
} from "@gateway/base/json";

const TEXT_BY_FORMAT = new Map<unknown, string>([
  ["date", "2026-01-01"],
  ["date-time", "2026-01-01T12:00:00Z"],
  ["time", "12:00:00Z"],
  ["email", "demo@example.com"],
  ["uri", "https://example.com/"],
  ["url", "https://example.com/"],
  ["uuid", "00000000-0000-4000-8000-000000000000"],
  ["ipv4", "192.0.2.1"],
  ["hostname", "example.com"],
]);

/** The maximum depth of an example. It bounds the example of a schema that refers to itself. */
const MAX_DEPTH = 8;

/**
 * Returns a value that satisfies `schema` (JSON Schema). If the schema has a constant, a default, examples or choices,
 * returns the first of these. Otherwise makes a value from the type, the format and the bounds. An object gets only its
 * required fields, or only its first field if none is required. `pattern` is ignored.
 */
export function exampleOf(schema: JsonObject): JsonValue {
  return exampleAt(schema, schema, 0);
}

/** @param root The whole schema, which `$ref` points into. */
function exampleAt(
  schema: JsonObject,
  root: JsonObject,
  depth: number,
): JsonValue {
  const whole = resolve(schema, root);
  const given = whole.const ?? whole.default ?? listOf(whole.examples)[0] ??
    listOf(whole.enum)[0];
  if (given !== undefined) return given;
  const inner = (part: JsonValue | undefined) =>
    exampleAt(objectOf(part), root, depth + 1);
  switch (typeOf(whole)) {
    case "object": {
      const properties = objectOf(whole.properties);
      const required = listOf(whole.required).map(String);
      const names = required.length > 0
        ? required
        : Object.keys(properties).slice(0, 1);
      return depth >= MAX_DEPTH ? {} : Object.fromEntries(
        names.map((name) => [name, inner(properties[name])]),
      );
    }
    case "array": {
      const count = Math.max(1, numberOf(whole.minItems) ?? 1);
      return depth >= MAX_DEPTH || whole.maxItems === 0
        ? []
        : Array(count).fill(inner(whole.items));
    }
    case "integer":
    case "number":
      return numberExample(whole);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return (TEXT_BY_FORMAT.get(whole.format) ?? "demo")
        .padEnd(numberOf(whole.minLength) ?? 0, "o")
        .slice(0, numberOf(whole.maxLength));
  }
}

/** Follows `$ref`, merges `allOf` and takes the first alternative that is not null. */
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let whole = schema;
  for (let hop = 0; hop < MAX_DEPTH; hop++) {
    const { $ref, allOf, anyOf, oneOf, ...rest } = whole;
    const choice = objectsOf(anyOf ?? oneOf)
      .find(({ type }) => type !== "null");
    if (typeof $ref === "string") whole = { ...lookUp($ref, root), ...rest };
    else if (allOf !== undefined) whole = merge([rest, ...objectsOf(allOf)]);
    else if (choice !== undefined) whole = merge([rest, choice]);
    else return whole;
  }
  return {};
}

function lookUp(reference: string, root: JsonObject): JsonObject {
  if (!reference.startsWith("#")) return {};
  return reference.split("/").slice(1).reduce(
    (schema, key) =>
      objectOf(schema[key.replaceAll("~1", "/").replaceAll("~0", "~")]),
    root,
  );
}

function merge(schemas: readonly JsonObject[]): JsonObject {
  const properties: JsonObject = Object.assign(
    {},
    ...schemas.map((schema) => objectOf(schema.properties)),
  );
  const required = schemas.flatMap((schema) => listOf(schema.required));
  const whole: JsonObject = Object.assign({}, ...schemas);
  return Object.keys(properties).length === 0
    ? whole
    : { ...whole, properties, required };
}

function typeOf({ type, properties, items }: JsonObject): JsonValue {
  const types = [type].flat();
  const first = types.find((one) => one !== "null") ?? types[0];
  if (first !== undefined) return first;
  if (properties !== undefined) return "object";
  return items === undefined ? "string" : "array";
}

function numberExample(schema: JsonObject): number {
  const step = numberOf(schema.multipleOf) ?? 1;
  const least = numberOf(schema.minimum) ??
    (numberOf(schema.exclusiveMinimum) ?? 0) + step;
  const most = numberOf(schema.maximum) ??
    (numberOf(schema.exclusiveMaximum) ?? Infinity) - step;
  return Math.min(Math.ceil(least / step) * step, most);
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
