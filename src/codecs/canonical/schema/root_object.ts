import { lookup, wordList } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  present,
} from "@gateway/base/json";
import { mapSchemas, withDescription } from "./keywords.ts";
import { normalSchema } from "./normal_schema.ts";

/** The properties of an object, and the names of its required properties. */
interface Fields {
  readonly properties: JsonObject;
  readonly required: JsonValue[];
}

/** The state of reading a schema's choices. */
interface Trail {
  readonly root: JsonObject;
  /** The fields of each schema read so far. A schema that is being read has no fields, so that a cycle adds nothing. */
  readonly read: Map<JsonObject, Fields>;
  readonly depth: number;
  /** The characters left for alternatives. Without this limit, nested choices could multiply the alternatives. */
  readonly room: { characters: number };
}

const NO_FIELDS: Fields = { properties: {}, required: [] };

const NOT_AT_ROOT = wordList("$ref anyOf oneOf allOf enum not");

/** The most levels of choices or references that are read. */
const MAX_DEPTH = 16;

/** The most characters of alternatives. */
const MAX_CHARACTERS = 256 * 1024;

/**
 * Returns the schema of a function's arguments with an object at its root, without a reference or a choice there. A
 * choice becomes one object with the properties of all alternatives. A property is required when all alternatives
 * require it. OpenAI rejects 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the root
 * (https://github.com/langchain-ai/langchainjs/issues/9804). `enum` and `not` move into the description.
 */
export function rootObject(schema: JsonObject | undefined): JsonObject {
  const normal = normalSchema(schema ?? { properties: {} });
  const root = followRoot(normal);
  const isPlain = NOT_AT_ROOT.every((keyword) => root[keyword] === undefined);
  if (isPlain && root.type === "object") return root;
  const { $ref, anyOf, oneOf, allOf, enum: values, not, ...rest } = root;
  const isChoice = [$ref, anyOf, oneOf, allOf].some((one) => one !== undefined);
  const fields = isChoice
    ? combine(root, {
      root: normal,
      read: new Map([[normal, NO_FIELDS]]),
      depth: 0,
      room: { characters: MAX_CHARACTERS },
    })
    : {};
  const object = { ...rest, type: "object", ...fields };
  const moved = present({ enum: values, not });
  return Object.keys(moved).length === 0
    ? object
    : withDescription(object, `Must match ${JSON.stringify(moved)}`);
}

/** The fields that may be beside a reference at the root when its definition replaces the reference. */
const BESIDE_ROOT = wordList("$ref $defs type title description $comment");

/** Replaces a reference at the root with its definition, if the root has only {@linkcode BESIDE_ROOT} fields. */
export function followRoot(schema: JsonObject): JsonObject {
  let root = schema;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const { $ref, ...rest } = root;
    const isBare = Object.keys(rest).every((one) => BESIDE_ROOT.includes(one));
    if (typeof $ref !== "string" || !isBare) break;
    root = { ...definitionOf($ref, schema), ...rest };
  }
  return root;
}

/** Returns the definition that a reference of a {@linkcode normalSchema} names. */
export function definitionOf(
  reference: string,
  { $defs }: JsonObject,
): JsonObject {
  const name = reference.slice("#/$defs/".length);
  return objectOf(lookup(objectOf($defs), name));
}

/** Returns the names of the definitions that a schema refers to. */
export function referencesIn(schema: JsonObject): string[] {
  const names: string[] = [];
  mapSchemas(schema, (inner) => {
    const { $ref } = inner;
    if (typeof $ref === "string") names.push($ref.slice("#/$defs/".length));
    return inner;
  });
  return names;
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
    ? [definitionOf($ref, trail.root)]
    : [];
  const parts = [...target, ...objectsOf(schema.allOf)]
    .map((part) => fieldsOf(part, trail));
  const choices = [schema.anyOf, schema.oneOf].flatMap(objectsOf)
    .map((choice) => fieldsOf(choice, trail));
  const own: Fields = {
    properties: objectOf(properties),
    required: [...listOf(required)],
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

/** Returns the properties of all objects. Different schemas of a property become an `anyOf`, or `{}` if too long. */
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
  const [first, ...others] = choices.map(({ required }) => new Set(required));
  return [...first ?? []].filter((name) =>
    others.every((names) => names.has(name))
  );
}
