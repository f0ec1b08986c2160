import { wordList } from "../../../core/collections.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  pickFields,
} from "../../../core/json.ts";

/** The keywords that apply to one type only. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: wordList(`
    properties required additionalProperties minProperties maxProperties
  `),
  array: ["items", "minItems", "maxItems", "uniqueItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: wordList(`
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
  `),
  boolean: [],
  null: [],
};

const TYPED_KEYWORDS = Object.values(KEYWORDS).flat();

/** The fields that may be beside `anyOf` or `$ref`. All others belong in a branch. */
const BESIDE = ["description", "$defs"];

/** The types that a value may have when its schema names none. */
const ANY_TYPES = ["string", "number", "boolean", "object", "array", "null"];

/**
 * Returns `schema` in Moonshot's subset of JSON Schema. Each value has one `type` or an `anyOf`, and each list has one
 * schema for all items. References name `$defs` and have no type beside them.
 */
export function moonshotSchema(schema: JsonObject): JsonObject {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  return fit(rest);
}

function fit(schema: JsonValue | undefined): JsonObject {
  if (!isJsonObject(schema)) return fit({ type: [...ANY_TYPES] });
  const plain = withoutTuples(merged(renamed(schema)));
  if (typeof plain.$ref === "string") {
    return { ...fitDefinitions(beside(plain)), $ref: plain.$ref };
  }
  const branches = branchesOf(plain);
  return branches === undefined ? fitOne(plain) : {
    ...fitDefinitions(beside(plain)),
    anyOf: branches.map(fit).flatMap(spread),
  };
}

/** Renames older and alternative keywords. */
function renamed(schema: JsonObject): JsonObject {
  const { const: only, definitions, nullable, $ref, ...rest } = schema;
  const named: JsonObject = rest;
  if (isJsonObject(definitions)) {
    named.$defs = { ...definitions, ...objectOf(rest.$defs) };
  }
  if (only !== undefined) named.enum = [only];
  if (nullable === true && typeof rest.type === "string") {
    named.type = [rest.type, "null"];
  }
  if (typeof $ref === "string" && $ref !== "") {
    const name = /^#\/(?:\$defs|definitions)\/(.+)$/.exec($ref)?.[1];
    if (name !== undefined) named.$ref = `#/$defs/${name}`;
  }
  return named;
}

/** Merges the parts of `allOf` into one schema, as far as they do not conflict. */
function merged({ allOf, ...rest }: JsonObject): JsonObject {
  if (!Array.isArray(allOf)) return rest;
  return allOf.filter(isJsonObject).map(renamed).map(merged).reduce(join, rest);
}

/** Combines two schemas. The second wins where both set the same keyword. */
function join(first: JsonObject, second: JsonObject): JsonObject {
  const joined = { ...first, ...second };
  for (const field of ["properties", "$defs"]) {
    const fields = { ...objectOf(first[field]), ...objectOf(second[field]) };
    if (Object.keys(fields).length > 0) joined[field] = fields;
  }
  const required = [...asList(first.required), ...asList(second.required)];
  if (required.length > 0) joined.required = [...new Set(required)];
  return joined;
}

/** Returns the schemas of which one must match, or `undefined` when there is only one. */
function branchesOf(schema: JsonObject): JsonObject[] | undefined {
  const { anyOf, oneOf, ...others } = schema;
  const given = Array.isArray(anyOf) ? anyOf : oneOf;
  const parent = without(others, BESIDE);
  if (Array.isArray(anyOf) && oneOf !== undefined) parent.oneOf = oneOf;
  if (Array.isArray(given) && given.length > 0) {
    return given.map((branch) => {
      const own = objectOf(branch);
      // The parent's type applies to each branch that names no type.
      return join(
        own.type === undefined ? parent : ofTypes(parent, own.type),
        own,
      );
    });
  }
  const types = typesOf(schema);
  return types.length === 1
    ? undefined
    : types.map((type) => ofTypes({ ...parent, type }, type));
}

/** Returns the schema without the keywords of other types. */
function ofTypes(schema: JsonObject, types: JsonValue): JsonObject {
  const known = asList(types).map(kindOf);
  const kept = known.flatMap((type) => KEYWORDS[type] ?? []);
  const { default: defaultValue } = schema;
  const keepsDefault = defaultValue !== undefined &&
    known.includes(typeOf(defaultValue));
  const rest = without(schema, [
    ...TYPED_KEYWORDS.filter((word) => !kept.includes(word)),
    ...(keepsDefault ? [] : ["default"]),
  ]);
  if (!Array.isArray(rest.enum)) return rest;
  const values = rest.enum.filter((value) => known.includes(typeOf(value)));
  return values.length === 0
    ? without(rest, ["enum"])
    : { ...rest, enum: values };
}

/** Returns the types that a schema names. Without them, returns the types that its other keywords imply. */
function typesOf(schema: JsonObject): string[] {
  const named = asList(schema.type).filter((type) => typeof type === "string");
  if (named.length > 0) return [...new Set(named)];
  if (Array.isArray(schema.enum) && schema.enum.length > 0) {
    return [...new Set(schema.enum.map(typeOf))];
  }
  const implied = Object.keys(KEYWORDS).filter((type) =>
    KEYWORDS[type]?.some((word) => schema[word] !== undefined)
  );
  return implied.length > 0 ? implied : [...ANY_TYPES];
}

/** Returns the type whose keywords apply. Integers use the keywords of numbers. */
function kindOf(type: JsonValue): string {
  return type === "integer" ? "number" : String(type);
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Returns a schema of one type, and fits the schemas inside it. */
function fitOne(schema: JsonObject): JsonObject {
  const [type = "object"] = typesOf(schema);
  const { enum: values, ...others } = fitDefinitions(schema);
  const fitted: JsonObject = { ...others, type };
  if (Array.isArray(values)) Object.assign(fitted, fitEnum(values, type));
  if (isJsonObject(schema.properties)) {
    fitted.properties = mapped(schema.properties);
  }
  if (schema.items !== undefined) fitted.items = fit(schema.items);
  if (isJsonObject(schema.additionalProperties)) {
    fitted.additionalProperties = fit(schema.additionalProperties);
  }
  return fitted;
}

/** Returns the enum without empty strings, nulls and values of another type, which Moonshot rejects. */
function fitEnum(values: readonly JsonValue[], type: string): JsonObject {
  const kept = values.filter((value) =>
    value !== "" && value !== null && typeOf(value) === kindOf(type)
  );
  return kept.length === 0 ? {} : { enum: kept };
}

function fitDefinitions(schema: JsonObject): JsonObject {
  return isJsonObject(schema.$defs)
    ? { ...schema, $defs: mapped(schema.$defs) }
    : schema;
}

/** Converts a tuple, in both spellings, to a list of any of its schemas. The description lists them. */
function withoutTuples(schema: JsonObject): JsonObject {
  const { prefixItems, additionalItems: more, ...rest } = schema;
  const first = Array.isArray(rest.items) ? rest.items : prefixItems;
  if (!Array.isArray(first)) return rest;
  const further = isJsonObject(rest.items) ? rest.items : more;
  const kinds = [...first, ...(isJsonObject(further) ? [further] : [])];
  const distinct = [
    ...new Map(kinds.map((kind) => [JSON.stringify(kind), kind])).values(),
  ];
  const [only] = distinct;
  const isClosed = rest.items === false || more === false;
  const list: JsonObject = {
    ...without(rest, ["items"]),
    ...(isClosed ? { maxItems: first.length } : {}),
  };
  if (only === undefined) return list;
  if (distinct.length === 1) return { ...list, items: only };
  const order = `The first items match, in this order: ${
    JSON.stringify(first)
  }`;
  const { description } = rest;
  return {
    ...list,
    description: typeof description === "string"
      ? `${description}\n${order}`
      : order,
    items: { anyOf: distinct },
  };
}

/** Lifts the branches of a branch by one level. */
function spread(schema: JsonObject): JsonValue[] {
  return Array.isArray(schema.anyOf) && Object.keys(schema).length === 1
    ? schema.anyOf
    : [schema];
}

function mapped(schemas: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, fit(schema)]),
  );
}

function beside(schema: JsonObject): JsonObject {
  return pickFields(schema, (field) => BESIDE.includes(field));
}

function without(schema: JsonObject, fields: readonly string[]): JsonObject {
  return pickFields(schema, (field) => !fields.includes(field));
}

function asList(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
