import type { JsonObject, JsonValue } from "../core/json.ts";
import { listOf, numberOf, objectOf, objectsOf, textOf } from "./ask/fields.ts";

/** Values that look right for fields of these names; the first pattern that matches wins. */
const TEXT_BY_NAME: readonly (readonly [name: RegExp, text: string])[] = [
  [/^(cmd|command|script)$/i, "echo hello from the demo"],
  [/(city|location|place|destination)$/i, "Berlin"],
  [/country$/i, "Germany"],
  [/(path|file|filename)$/i, "demo.txt"],
  [/(url|uri|link)$/i, "https://example.com/"],
  [/(query|question|pattern|search)$/i, "demo"],
  [/e?mail$/i, "demo@example.com"],
  [/(timezone|time_zone)$/i, "Europe/Berlin"],
  [/date$/i, "2026-01-01"],
  [/time$/i, "12:00"],
  [/name$/i, "Demo"],
];

const TEXT_BY_FORMAT: Readonly<Record<string, string>> = {
  "date": "2026-01-01",
  "date-time": "2026-01-01T12:00:00Z",
  "time": "12:00:00Z",
  "email": "demo@example.com",
  "uri": "https://example.com/",
  "url": "https://example.com/",
  "uuid": "00000000-0000-4000-8000-000000000000",
  "ipv4": "192.0.2.1",
  "hostname": "example.com",
};

/** A schema that refers to itself ends here. */
const MAX_DEPTH = 8;

/** Where in a schema an example is made. */
interface Place {
  /** The whole schema, which `$ref` points into. */
  readonly root: JsonObject;
  /** The name of the field, empty at the top. */
  readonly name: string;
  readonly depth: number;
}

/**
 * A plausible value that satisfies `schema` (JSON Schema): the given constant, default, example or first
 * choice, else one made from type, format, bounds and the field's name. Only required fields are filled
 * in; where none is required, the first one. `pattern` is not looked at.
 */
export function exampleOf(schema: JsonObject): JsonValue {
  return exampleAt(schema, { root: schema, name: "", depth: 0 });
}

function exampleAt(schema: JsonObject, place: Place): JsonValue {
  const whole = resolve(schema, place.root);
  const given = givenExample(whole);
  if (given !== undefined) return given;
  switch (typeOf(whole)) {
    case "object":
      return objectExample(whole, place);
    case "array":
      return arrayExample(whole, place);
    case "integer":
    case "number":
      return numberExample(whole);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return textExample(whole, place.name);
  }
}

/** Follows `$ref`, merges `allOf` and takes the first alternative that is not null. */
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let whole = schema;
  for (let hop = 0; hop < MAX_DEPTH; hop++) {
    const next = resolveOnce(whole, root);
    if (next === undefined) return whole;
    whole = next;
  }
  return {};
}

function resolveOnce(
  schema: JsonObject,
  root: JsonObject,
): JsonObject | undefined {
  const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
  if (typeof $ref === "string") return { ...lookUp($ref, root), ...rest };
  if (allOf !== undefined) return merge([rest, ...objectsOf(allOf)]);
  const choices = objectsOf(anyOf ?? oneOf);
  const choice = choices.find((choice) => choice.type !== "null");
  return choice === undefined ? undefined : merge([rest, choice]);
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
  const properties = schemas.map((schema) => objectOf(schema.properties));
  const whole: JsonObject = Object.assign({}, ...schemas);
  if (properties.some((each) => Object.keys(each).length > 0)) {
    whole.properties = Object.assign({}, ...properties);
    whole.required = schemas.flatMap((schema) => listOf(schema.required));
  }
  return whole;
}

function givenExample(schema: JsonObject): JsonValue | undefined {
  return schema.const ?? schema.default ?? listOf(schema.examples)[0] ??
    listOf(schema.enum)[0];
}

function typeOf(schema: JsonObject): string {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const type = textOf(types.find((type) => type !== "null") ?? types[0]);
  if (type !== "") return type;
  if (schema.properties !== undefined) return "object";
  return schema.items === undefined ? "string" : "array";
}

function objectExample(schema: JsonObject, place: Place): JsonObject {
  const properties = objectOf(schema.properties);
  const required = listOf(schema.required).map(textOf);
  const names = required.length > 0
    ? required
    : Object.keys(properties).slice(0, 1);
  if (place.depth >= MAX_DEPTH) return {};
  return Object.fromEntries(names.map((name) => [
    name,
    exampleAt(objectOf(properties[name]), {
      ...place,
      name,
      depth: place.depth + 1,
    }),
  ]));
}

function arrayExample(schema: JsonObject, place: Place): JsonValue[] {
  if (place.depth >= MAX_DEPTH || schema.maxItems === 0) return [];
  const item = exampleAt(objectOf(schema.items), {
    ...place,
    name: place.name.replace(/s$/, ""),
    depth: place.depth + 1,
  });
  return Array(Math.max(1, numberOf(schema.minItems) ?? 1)).fill(item);
}

function numberExample(schema: JsonObject): number {
  const step = numberOf(schema.multipleOf) ?? 1;
  const least = numberOf(schema.minimum) ??
    (numberOf(schema.exclusiveMinimum) ?? 0) + step;
  const most = numberOf(schema.maximum) ??
    (numberOf(schema.exclusiveMaximum) ?? Infinity) - step;
  return Math.min(Math.ceil(least / step) * step, most);
}

function textExample(schema: JsonObject, name: string): string {
  const text = TEXT_BY_FORMAT[textOf(schema.format)] ??
    TEXT_BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? "demo";
  return text.padEnd(numberOf(schema.minLength) ?? 0, "o")
    .slice(0, numberOf(schema.maxLength) ?? text.length + 1000);
}
