import {
  isJsonObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
} from "../../../src/base/json.ts";

// The rules of https://github.com/MoonshotAI/walle at the level "strict", which Moonshot's servers demand. If walle's
// result depends on the order of a map, the stricter one applies here.

const MAX_LEVELS = 10;
const MAX_VALUES = 500;
const MAX_CHOICES = 100;
const TYPES = "null boolean object array number integer string".split(" ");
const RESERVED = ["$defs", "$ref", "anyOf", "required", "additionalProperties"];

/** Returns Moonshot's error for a schema; `undefined` when it accepts it. */
export function moonshotSchemaFault(root: JsonObject): string | undefined {
  const fault = schemasAt(root).map((one) => faultIn(one, root))
    .find((one) => one !== undefined);
  return fault ??
    (moonshotLevels(root) > MAX_LEVELS
      ? `schema depth exceeds maximum limit of ${MAX_LEVELS}`
      : undefined);
}

/** Returns the levels of properties that Moonshot counts in a schema. */
export function moonshotLevels(root: JsonObject): number {
  return Math.max(...schemasAt(root).map((one) => levelsOf(one, root, [])));
}

function schemasAt(root: JsonObject): JsonObject[] {
  const definitions = Object.values(objectOf(root.$defs));
  return [root, ...definitions.filter((one) => isJsonObject(one))];
}

function faultIn(schema: unknown, root: JsonObject): string | undefined {
  if (!isJsonObject(schema)) return "a schema must be an object";
  const { type, anyOf, $ref, properties, items, required } = schema;
  const beside = Object.keys(schema).filter((word) =>
    !["description", "title"].includes(word) &&
    !(schema === root && word === "$defs")
  );
  if (anyOf !== undefined) {
    const choices = listOf(anyOf);
    if (type !== undefined) {
      return "when using anyOf, type should be defined in anyOf items";
    }
    if (choices.length === 0 || choices.length > MAX_CHOICES) {
      return `anyOf must have 1-${MAX_CHOICES} items`;
    }
    const clash = objectsOf(anyOf).flatMap(Object.keys)
      .find((word) => word !== "anyOf" && beside.includes(word));
    if (clash !== undefined) return `conflicting keywords: ${clash}`;
  }
  if ($ref !== undefined) {
    if (targetOf($ref, root) === undefined) return `invalid $ref: ${$ref}`;
    if (Object.keys(schema).length > 1) return "words beside $ref";
  }
  if (Array.isArray(type) && type.length > 1 && beside.length > 1) {
    return "a keyword is not allowed in combination with multiple types";
  }
  if ([type ?? []].flat().some((one) => !TYPES.includes(String(one)))) {
    return `invalid type ${type}`;
  }
  if (items !== undefined && !isJsonObject(items)) {
    return "items must be an object";
  }
  if (properties !== undefined && !isJsonObject(properties)) {
    return "properties must be an object";
  }
  const names = Object.keys(objectOf(properties));
  const reserved = names.find((name) => RESERVED.includes(name));
  if (reserved !== undefined) return `property name '${reserved}' is reserved`;
  const missing = listOf(required).find((name) =>
    typeof name !== "string" || !names.includes(name)
  );
  if (missing !== undefined) {
    return `required property '${missing}' is not defined in properties`;
  }
  return faultOfEnum(schema) ??
    innerOf(schema).map(([inner]) => faultIn(inner, root))
      .find((fault) => fault !== undefined);
}

function faultOfEnum({ enum: values, type }: JsonObject): string | undefined {
  if (values === undefined) return undefined;
  if (!Array.isArray(values) || values.length === 0) return "an empty enum";
  if (values.length > MAX_VALUES) return "a long enum";
  if (type === undefined) return "type is not defined";
  const wrong = values.find((value) =>
    type === "integer"
      ? !Number.isInteger(value)
      : typeof value !== type && !(type === "null" && value === null)
  );
  return wrong === undefined
    ? undefined
    : `enum value (${
      JSON.stringify(wrong)
    }) does not match any type in [${type}]`;
}

/** Returns the subschemas of a schema, each with its levels below it. */
function innerOf(schema: JsonObject): [inner: unknown, level: number][] {
  const { properties, items, additionalProperties: others, anyOf } = schema;
  return [
    ...Object.values(objectOf(properties))
      .map((one): [unknown, number] => [one, 1]),
    ...[items, ...listOf(anyOf)].filter((one) => one !== undefined)
      .map((one): [unknown, number] => [one, 0]),
    ...(isJsonObject(others) ? [[others, 0] satisfies [unknown, number]] : []),
  ];
}

/** Returns the levels of a schema. Each reference is followed once on a path. */
function levelsOf(
  schema: unknown,
  root: JsonObject,
  path: readonly unknown[],
): number {
  if (!isJsonObject(schema)) return 0;
  const { $ref, properties } = schema;
  const target = path.includes($ref) ? undefined : targetOf($ref, root);
  const next = path.length === 0 ? ["the first"] : [...path, $ref];
  return Math.max(
    properties === undefined ? 0 : 1,
    levelsOf(target, root, next),
    ...innerOf(schema).map(([inner, level]) =>
      level + levelsOf(inner, root, path)
    ),
  );
}

function targetOf(
  reference: unknown,
  root: JsonObject,
): JsonObject | undefined {
  const [start, holder, name = "", ...more] = String(reference).split("/");
  if (start !== "#" || holder !== "$defs" || more.length > 0) return undefined;
  const found = Object.hasOwn(objectOf(root.$defs), name)
    ? objectOf(root.$defs)[name]
    : undefined;
  return isJsonObject(found) ? found : undefined;
}
