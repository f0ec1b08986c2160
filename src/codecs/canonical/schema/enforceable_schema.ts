import { wordList, wordSet } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  listOf,
  objectOf,
} from "@gateway/base/json";
import { mapInside, mapSchemas, withDescription } from "./keywords.ts";
import { normalSchema, UNKNOWN_REFERENCE } from "./normal_schema.ts";
import { referencesIn } from "./root_object.ts";

/** The keywords of a schema that providers can enforce. Other keywords move to the description. */
const KNOWN_KEYWORDS = wordSet(`
  $ref $defs title description default type enum const
  anyOf properties required additionalProperties items format minItems
`);
const KNOWN_FORMATS: ReadonlySet<unknown> = wordSet(`
  date-time time date duration email hostname uri ipv4 ipv6 uuid
`);

/** The keywords that add properties to a schema. A schema with two of these keywords cannot be closed. */
const COMBINED = wordList("$ref properties anyOf oneOf");

/**
 * Returns a schema that providers can enforce. Objects are closed, `oneOf` becomes `anyOf`, and other keywords move to
 * the description.
 *
 * @returns `undefined` when closing would change the schema's meaning or the provider rejects the schema: for objects
 * with arbitrary keys, recursion, and external references.
 */
export function enforceableSchema(schema: JsonObject): JsonObject | undefined {
  const normal = normalSchema(schema);
  if (inOrder(normal) === undefined) return undefined;
  try {
    return close(normal);
  } catch (error) {
    if (error instanceof OpenSchemaError) return undefined;
    throw error;
  }
}

class OpenSchemaError extends Error {
  override readonly name = "OpenSchemaError";
}

function close(schema: JsonObject): JsonObject {
  const kept: JsonObject = {};
  const moved: string[] = [];
  // `prefixItems` moves to the description, together with `items`. Without `prefixItems`, `items` would also apply to
  // the first items.
  const isTuple = schema.prefixItems !== undefined;
  for (const [keyword, value] of Object.entries(schema)) {
    const isKnown = keyword === "format"
      ? KNOWN_FORMATS.has(value)
      : keyword === "minItems"
      ? value === 0 || value === 1
      : KNOWN_KEYWORDS.has(keyword) && !(isTuple && keyword === "items");
    if (keyword === "oneOf") kept.anyOf = value;
    else if (isKnown) kept[keyword] = value;
    else moved.push(`${keyword}: ${JSON.stringify(value)}`);
  }
  const isUnknown = String(schema.description).includes(UNKNOWN_REFERENCE);
  // If two such parts were closed, each part would forbid the properties of the other part.
  const isJoined = COMBINED.filter((word) => word in schema).length > 1;
  if (isUnknown || isJoined || "allOf" in schema) throw new OpenSchemaError();
  if (isObjectSchema(kept)) closeObject(schema, kept);
  const closed = mapInside(kept, close);
  return moved.length === 0
    ? closed
    : withDescription(closed, `{${moved.join(", ")}}`);
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return properties !== undefined || [type].flat().includes("object");
}

/** Closes an object. Throws for a map or an object with arbitrary keys: if closed, it would allow no keys. */
function closeObject(
  { properties, additionalProperties, patternProperties }: JsonObject,
  kept: JsonObject,
): void {
  const isMap = isJsonObject(additionalProperties) ||
    patternProperties !== undefined ||
    properties === undefined && additionalProperties !== false;
  if (isMap) throw new OpenSchemaError();
  kept.additionalProperties = false;
}

/** Orders the definitions so that each refers only to earlier definitions; returns `undefined` for a cycle. */
function inOrder(
  { $defs }: JsonObject,
): readonly (readonly [name: string, schema: JsonObject])[] | undefined {
  const schemas = new Map(
    Object.entries(objectOf($defs)).map(([name, one]) => [name, objectOf(one)]),
  );
  const waiting = new Map<string, number>();
  const users = new Map<string, string[]>();
  for (const [name, schema] of schemas) {
    const needed = referencesIn(schema);
    waiting.set(name, needed.length);
    for (const one of needed) users.set(one, [...users.get(one) ?? [], name]);
  }
  const ready = [...schemas.keys()].filter((name) => waiting.get(name) === 0);
  // The list grows while it is read.
  for (const name of ready) {
    for (const user of users.get(name) ?? []) {
      const left = (waiting.get(user) ?? 0) - 1;
      waiting.set(user, left);
      if (left === 0) ready.push(user);
    }
  }
  return ready.length === schemas.size
    ? ready.map((name) => [name, schemas.get(name) ?? {}])
    : undefined;
}

/** The limit that all strict schemas of a request share. */
export interface StrictRoom {
  /**
   * If an {@linkcode enforceableSchema} fits beside the schemas counted so far, counts it and returns true. Otherwise
   * returns false.
   */
  takes(schema: JsonObject, kind: "tool" | "format"): boolean;
}

/**
 * Returns the room for the strict schemas of one request: at most 20 tools. Together they may have 24 optional
 * parameters (https://github.com/elizaOS/eliza/issues/16499) and 16 parameters of several types
 * (https://github.com/ENTERPILOT/GoModel/pull/963). A definition counts once for each use.
 */
export function createStrictRoom(): StrictRoom {
  let [tools, optional, unions] = [20, 24, 16];
  return {
    takes(schema, kind) {
      const isTool = kind === "tool" ? 1 : 0;
      const more = total(schema, optionalIn);
      const choices = total(schema, unionsIn);
      if (tools < isTool || optional < more || unions < choices) return false;
      [tools, optional, unions] = [
        tools - isTool,
        optional - more,
        unions - choices,
      ];
      return true;
    },
  };
}

/** Returns the sum of `count` over a schema and the definitions that the schema uses. */
function total(
  schema: JsonObject,
  count: (schema: JsonObject) => number,
): number {
  const sums = new Map<string, number>();
  const sumOf = ({ $defs: _others, ...one }: JsonObject) => {
    let sum = 0;
    mapSchemas(one, (inner) => {
      sum += count(inner);
      return inner;
    });
    return referencesIn(one)
      .reduce((all, name) => all + (sums.get(name) ?? 0), sum);
  };
  for (const [name, one] of inOrder(schema) ?? []) sums.set(name, sumOf(one));
  return sumOf(schema);
}

function optionalIn({ properties, required }: JsonObject): number {
  const names = new Set(listOf(required));
  return Object.keys(objectOf(properties))
    .filter((name) => !names.has(name)).length;
}

function unionsIn({ type, anyOf }: JsonObject): number {
  return Array.isArray(anyOf) || Array.isArray(type) ? 1 : 0;
}
