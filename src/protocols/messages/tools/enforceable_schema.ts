import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";

/** What an upstream understands of a schema that it holds an answer to; the rest goes into the description. */
const KNOWN_KEYWORDS: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$ref",
  "$defs",
  "definitions",
  "title",
  "description",
  "default",
  "type",
  "enum",
  "const",
  "anyOf",
  "allOf",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "format",
  "minItems",
]);
const KNOWN_FORMATS: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);
/** Keywords whose value is a schema by name. */
const SCHEMA_MAPS = ["properties", "$defs", "definitions"] as const;
/** Keywords whose value is a list of schemas. */
const SCHEMA_LISTS = ["anyOf", "allOf"] as const;

/**
 * A schema as upstreams take it where they enforce it: objects are closed, `oneOf` is `anyOf`, and what cannot
 * be enforced stands in the description. A schema that is in that form already comes back as it is.
 *
 * @returns `undefined` where closing it would change its meaning or the upstream refuses it: objects with
 * arbitrary keys, recursion, references outside.
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

/** A schema that cannot be closed. */
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

/** Any object would become the empty one, and a map of values too. */
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

/** Whether following the references of a schema comes back to where it was, or leaves it. */
function isRecursive(schema: JsonObject): boolean {
  return leadsBack(schema, { root: schema, open: new Set(), done: new Set() });
}

/** The schema that a reference such as `#/$defs/city` means. */
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

/** What is known of a schema's references while they are followed. */
interface Trail {
  readonly root: JsonObject;
  /** References that are being followed. */
  readonly open: Set<string>;
  /** References that were followed to their ends. */
  readonly done: Set<string>;
}

/** Whether following references from `value` comes back to where it was, or leaves the schema. */
function leadsBack(value: JsonValue | undefined, trail: Trail): boolean {
  if (Array.isArray(value)) {
    return value.some((inner) => leadsBack(inner, trail));
  }
  if (!isJsonObject(value)) return false;
  if (typeof value.$ref === "string") {
    return referenceLeadsBack(value.$ref, trail);
  }
  return Object.entries(value).some(([keyword, inner]) =>
    keyword !== "$defs" && keyword !== "definitions" &&
    leadsBack(inner, trail)
  );
}

function referenceLeadsBack(reference: string, trail: Trail): boolean {
  if (trail.done.has(reference)) return false;
  const target = resolve(reference, trail.root);
  if (target === undefined || trail.open.has(reference)) return true;
  trail.open.add(reference);
  const isLoop = leadsBack(target, trail);
  trail.open.delete(reference);
  trail.done.add(reference);
  return isLoop;
}
