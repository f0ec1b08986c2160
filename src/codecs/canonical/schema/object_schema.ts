import { wordList } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  listOf,
  objectOf,
} from "@gateway/base/json";
import { mapInside, mapSchemas } from "./keywords.ts";
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

/** The keywords that strict schemas may not have: "'oneOf' is not permitted" (docker/docker-agent#4155). */
const NOT_STRICT = wordList(`
  allOf oneOf not if then else dependentRequired dependentSchemas
`);

/**
 * Returns the first rule of OpenAI's strict schemas that a schema breaks, as the end of a sentence; `undefined` if
 * the schema breaks no rule. By the rules, each object is closed and requires all its properties, each list names the
 * schema of its items, and only `anyOf` combines schemas. The whole schema is within the limits of
 * https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas.
 */
export function strictFault(schema: JsonObject = {}): string | undefined {
  let [properties, values, characters] = [0, 0, 0];
  const faults = new Set<string>();
  const check = (isFine: boolean, rule: string) => {
    if (!isFine) faults.add(`a strict schema ${rule}`);
  };
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
    check(
      isClosedObject(one, names),
      "must close every object and require every property",
    );
    check(
      one.type !== "array" || Object.keys(objectOf(one.items)).length > 0,
      "must name the items of every list",
    );
    const word = NOT_STRICT.find((keyword) => one[keyword] !== undefined);
    check(word === undefined, `cannot have \`${word}\``);
    check(
      one.$ref === undefined || Object.keys(one).length === 1,
      "cannot have fields beside a reference",
    );
    check(level <= 10, "has at most 10 levels of objects");
    check(
      choices.length <= 250 || length <= 15_000,
      "has at most 15000 characters in an enum of more than 250 values",
    );
    return mapInside(one, (inner) => read(inner, level));
  };
  read(schema, 0);
  check(properties <= 5_000, "has at most 5000 properties");
  check(values <= 1_000, "has at most 1000 values in enums");
  check(characters <= 120_000, "has at most 120000 characters in names");
  const [first] = faults;
  return first;
}

/**
 * Like {@linkcode strictFault}, for a format whose `strict` the caller did not set. The root of the format's schema
 * must also be an object.
 */
export function promiseFault(schema: JsonObject): string | undefined {
  const isObject = schema.type === "object" && schema.anyOf === undefined;
  return isObject ? strictFault(schema) : "a strict schema must be an object";
}

function isClosedObject(
  { type, properties, required, additionalProperties }: JsonObject,
  names: readonly string[],
): boolean {
  if (type !== "object" && !isJsonObject(properties)) return true;
  const needed = new Set(listOf(required));
  return additionalProperties === false &&
    names.every((name) => needed.has(name));
}

/**
 * Moves each reference that has fields beside it into an `anyOf` of its own. For a strict schema, "$ref cannot have
 * keywords {'description'}" (camel-ai/camel#3001, vectorize-io/hindsight#3904).
 */
export function withBareReferences(schema: JsonObject): JsonObject {
  return mapSchemas(schema, (one) => {
    const { $ref, ...rest } = one;
    const isBare = $ref === undefined || Object.keys(rest).length === 0 ||
      one === schema || rest.anyOf !== undefined;
    return isBare ? one : { ...rest, anyOf: [{ $ref }] };
  });
}
