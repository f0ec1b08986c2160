import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
  present,
} from "../../../core/json.ts";
import { objectSchema } from "./schema.ts";
import { withDescription } from "./schema_patterns.ts";

/** The properties of an object, and the names of those that it requires. */
interface Fields {
  readonly properties: JsonObject;
  readonly required: readonly JsonValue[];
}

/** The state of reading a schema's choices. */
interface Trail {
  readonly root: JsonObject;
  /** The fields of each schema that was read; no fields for one that is being read, since a cycle adds none. */
  readonly read: Map<JsonObject, Fields>;
  readonly depth: number;
  /** The characters of alternatives that may still be written. Nested choices could multiply them. */
  readonly room: { characters: number };
}

const NO_FIELDS: Fields = { properties: {}, required: [] };

/** The deepest choice that is read. */
const MAX_DEPTH = 16;

/** The most characters of alternatives. */
const MAX_CHARACTERS = 256 * 1024;

/**
 * Returns the schema of a function's arguments with an object at its root, without a reference or a choice there. A
 * choice becomes one object with the properties of all. A property is required when all of them require it.
 */
export function rootObject(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return { type: "object", properties: {} };
  const { $ref: _cycle, ...root } = follow(schema);
  const { anyOf, oneOf, allOf, ...rest } = root;
  const isChoice = [anyOf, oneOf, allOf].some((list) => Array.isArray(list));
  if (!isChoice) return { ...rest, type: "object" };
  const { properties, required } = combine(root, {
    root: schema,
    read: new Map([[schema, NO_FIELDS]]),
    depth: 0,
    room: { characters: MAX_CHARACTERS },
  });
  return { ...rest, type: "object", properties, required: [...required] };
}

/**
 * Returns the schema of a function's arguments for OpenAI, which demands an object with properties and rejects
 * 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the root (https://github.com/langchain-ai/langchainjs/issues/9804). The last
 * two move into the description.
 */
export function openAiParameters(schema: JsonObject): JsonObject {
  const { enum: values, not, ...rest } = objectSchema(rootObject(schema));
  const moved = present({ enum: values, not });
  return Object.keys(moved).length === 0
    ? rest
    : withDescription(rest, `Must match ${JSON.stringify(moved)}`);
}

/** Returns the root with the definition that it refers to. */
function follow(schema: JsonObject): JsonObject {
  let root = schema;
  for (
    let depth = 0;
    typeof root.$ref === "string" && depth < MAX_DEPTH;
    depth++
  ) {
    const { $ref, ...rest } = root;
    root = { ...rest, ...resolve($ref, schema) };
  }
  return root;
}

/** Resolves a reference such as `#/$defs/city`. */
export function resolve(
  reference: string,
  root: JsonObject,
): JsonObject | undefined {
  const [start, ...path] = reference.split("/");
  if (start !== "#") return undefined;
  let place: JsonValue | undefined = root;
  for (const key of path) {
    place = isJsonObject(place) && Object.hasOwn(place, key)
      ? place[key]
      : undefined;
  }
  return isJsonObject(place) ? place : undefined;
}

function fieldsOf(schema: JsonObject, trail: Trail): Fields {
  const known = trail.read.get(schema);
  if (known !== undefined) return known;
  trail.read.set(schema, NO_FIELDS);
  const fields = trail.depth < MAX_DEPTH
    ? combine(schema, { ...trail, depth: trail.depth + 1 })
    : NO_FIELDS;
  trail.read.set(schema, fields);
  return fields;
}

function combine(schema: JsonObject, trail: Trail): Fields {
  const { $ref, properties, required } = schema;
  const target = typeof $ref === "string"
    ? resolve($ref, trail.root)
    : undefined;
  const parts = [target, ...objectsOf(schema.allOf)]
    .filter((part) => part !== undefined)
    .map((part) => fieldsOf(part, trail));
  const choices = [schema.anyOf, schema.oneOf].flatMap(objectsOf)
    .map((choice) => fieldsOf(choice, trail));
  const own: Fields = {
    properties: isJsonObject(properties) ? properties : {},
    required: Array.isArray(required) ? required : [],
  };
  const all = [own, ...parts];
  return {
    properties: joined([
      ...all.map((part) => part.properties),
      eitherOf(choices.map((choice) => choice.properties), trail),
    ]),
    required: [
      ...new Set([
        ...all.flatMap((part) => part.required),
        ...requiredByAll(choices),
      ]),
    ],
  };
}

/** Returns the properties of all objects. The keywords of a later object win. */
function joined(objects: readonly JsonObject[]): JsonObject {
  return mapped(
    byName(objects),
    (schemas) =>
      schemas.every(isJsonObject)
        ? schemas.reduce((first, second) => ({ ...first, ...second }))
        : schemas.at(-1),
  );
}

/** Returns the properties of all objects. One that differs between them is a choice, or anything if that is too long. */
function eitherOf(objects: readonly JsonObject[], { room }: Trail): JsonObject {
  return mapped(byName(objects), (schemas) => {
    if (schemas.length === 1) return schemas[0];
    const kinds = new Map<string, JsonValue>();
    for (const schema of schemas) {
      if (room.characters < 0) return {};
      const text = JSON.stringify(schema);
      room.characters -= text.length;
      kinds.set(text, schema);
    }
    const [only] = kinds.values();
    return kinds.size === 1 ? only : { anyOf: [...kinds.values()] };
  });
}

/** Returns the schemas of each property. */
function byName(objects: readonly JsonObject[]): Map<string, JsonValue[]> {
  const schemas = new Map<string, JsonValue[]>();
  for (const [name, schema = {}] of objects.flatMap(Object.entries)) {
    const known = schemas.get(name);
    if (known === undefined) schemas.set(name, [schema]);
    else known.push(schema);
  }
  return schemas;
}

function mapped(
  schemas: ReadonlyMap<string, JsonValue[]>,
  merge: (schemas: readonly JsonValue[]) => JsonValue | undefined,
): JsonObject {
  return Object.fromEntries(
    [...schemas].map(([name, all]) => [name, merge(all)]),
  );
}

function requiredByAll(choices: readonly Fields[]): JsonValue[] {
  const [first, ...others] = choices.map(({ required }) => required);
  return (first ?? []).filter((name) =>
    others.every((names) => names.includes(name))
  );
}
