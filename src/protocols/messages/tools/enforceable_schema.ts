import { wordSet } from "../../../core/collections.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import { resolve } from "../../canonical/request/root_object.ts";

/** The keywords of a schema that providers can enforce. Others move to the description. */
const KNOWN_KEYWORDS = wordSet(`
  $schema $id $ref $defs definitions title description default type enum const
  anyOf allOf properties required additionalProperties items format minItems
`);
const KNOWN_FORMATS: ReadonlySet<unknown> = wordSet(`
  date-time time date duration email hostname uri ipv4 ipv6 uuid
`);
/** Keywords with a map of schemas by name. */
const SCHEMA_MAPS = ["properties", "$defs", "definitions"] as const;
/** Keywords with a list of schemas. */
const SCHEMA_LISTS = ["anyOf", "allOf"] as const;

/**
 * Returns a schema that providers can enforce. Objects are closed, `oneOf` becomes `anyOf`, and other keywords move to
 * the description. A schema in this form stays unchanged.
 *
 * @returns `undefined` when closing would change its meaning or the provider rejects it: objects with arbitrary keys,
 * recursion, and external references.
 */
export function enforceableSchema(schema: JsonObject): JsonObject | undefined {
  if (isRecursive(schema)) return undefined;
  try {
    return close(schema);
  } catch (error) {
    if (error instanceof OpenSchemaError) return undefined;
    throw error;
  }
}

class OpenSchemaError extends Error {
  override readonly name = "OpenSchemaError";
}

function close(schema: JsonObject): JsonObject {
  const closed: JsonObject = {};
  const moved: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const isKnown = keyword === "format"
      ? KNOWN_FORMATS.has(value)
      : keyword === "minItems"
      ? value === 0 || value === 1
      : KNOWN_KEYWORDS.has(keyword);
    if (keyword === "oneOf") closed.anyOf = value;
    else if (isKnown) closed[keyword] = value;
    else moved[keyword] = value;
  }
  closeInside(closed);
  if (isObjectSchema(closed)) closeObject(closed);
  return Object.keys(moved).length === 0
    ? closed
    : { ...closed, description: describe(closed.description, moved) };
}

function closeInside(schema: JsonObject): void {
  for (const keyword of SCHEMA_MAPS) {
    const map = schema[keyword];
    if (!isJsonObject(map)) continue;
    schema[keyword] = Object.fromEntries(
      Object.entries(map).map(([name, inner]) => [name, closeValue(inner)]),
    );
  }
  for (const keyword of SCHEMA_LISTS) {
    const list = schema[keyword];
    if (Array.isArray(list)) schema[keyword] = list.map(closeValue);
  }
  if (schema.items !== undefined) schema.items = closeValue(schema.items);
}

function closeValue<Value extends JsonValue | undefined>(
  value: Value,
): Value | JsonObject {
  return isJsonObject(value) ? close(value) : value;
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === "object" || type === undefined && properties !== undefined ||
    Array.isArray(type) && type.includes("object");
}

/** Closes an object. A map or an object with arbitrary keys cannot be closed, because it would become empty. */
function closeObject(schema: JsonObject): void {
  const { properties, additionalProperties } = schema;
  const isMap = isJsonObject(additionalProperties) ||
    properties === undefined && additionalProperties !== false;
  if (isMap) throw new OpenSchemaError();
  schema.additionalProperties = false;
}

function describe(
  description: JsonValue | undefined,
  moved: JsonObject,
): string {
  const words = Object.entries(moved).map(([keyword, value]) =>
    `${keyword}: ${JSON.stringify(value)}`
  ).join(", ");
  return typeof description === "string" && description !== ""
    ? `${description}\n\n{${words}}`
    : `{${words}}`;
}

/** Returns true when the references of a schema form a cycle, or leave the schema. */
function isRecursive(schema: JsonObject): boolean {
  return formsCycle(schema, { root: schema, open: new Set(), done: new Set() });
}

/** The state of following a schema's references. */
interface Trail {
  readonly root: JsonObject;
  /** The references on the current path. */
  readonly open: Set<string>;
  /** The references without a cycle behind them. */
  readonly done: Set<string>;
}

/** Returns true when the references from `value` form a cycle, or leave the schema. */
function formsCycle(value: JsonValue | undefined, trail: Trail): boolean {
  if (Array.isArray(value)) {
    return value.some((inner) => formsCycle(inner, trail));
  }
  if (!isJsonObject(value)) return false;
  if (typeof value.$ref === "string") {
    return referenceFormsCycle(value.$ref, trail);
  }
  return Object.entries(value).some(([keyword, inner]) =>
    keyword !== "$defs" && keyword !== "definitions" &&
    formsCycle(inner, trail)
  );
}

function referenceFormsCycle(reference: string, trail: Trail): boolean {
  if (trail.done.has(reference)) return false;
  const target = resolve(reference, trail.root);
  if (target === undefined || trail.open.has(reference)) return true;
  trail.open.add(reference);
  const isCycle = formsCycle(target, trail);
  trail.open.delete(reference);
  trail.done.add(reference);
  return isCycle;
}
