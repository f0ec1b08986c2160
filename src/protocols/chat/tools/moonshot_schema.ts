import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pickFields,
} from "../../../core/json.ts";

/** The keywords that say something of one type alone. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: [
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
  ],
  array: ["items", "minItems", "maxItems", "uniqueItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
  ],
  boolean: [],
  null: [],
};

const TYPED_KEYWORDS = Object.values(KEYWORDS).flat();

/** What stands beside `anyOf` and `$ref`; everything else belongs into a branch. */
const BESIDE = ["description", "$defs"];

/** What a value may be of which a schema says nothing. */
const ANY_TYPES = ["string", "number", "boolean", "object", "array", "null"];

/**
 * Returns `schema` in Moonshot's subset of JSON Schema: every value has one `type` or an `anyOf` of such, lists have
 * one schema for all items, and references name `$defs` and have no type beside them.
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

/** Older and other names of the same keywords. */
function renamed(schema: JsonObject): JsonObject {
  const { const: only, definitions, nullable, $ref, ...rest } = schema;
  const named: JsonObject = rest;
  if (isJsonObject(definitions)) {
    named.$defs = { ...definitions, ...asObject(rest.$defs) };
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

/** `allOf` as one schema, as far as its parts do not contradict each other. */
function merged({ allOf, ...rest }: JsonObject): JsonObject {
  if (!Array.isArray(allOf)) return rest;
  return allOf.filter(isJsonObject).map(renamed).map(merged).reduce(
    join,
    rest,
  );
}

/** Both schemas at once; of two words for the same thing the second counts. */
function join(first: JsonObject, second: JsonObject): JsonObject {
  const joined = { ...first, ...second };
  for (const field of ["properties", "$defs"]) {
    const fields = { ...asObject(first[field]), ...asObject(second[field]) };
    if (Object.keys(fields).length > 0) joined[field] = fields;
  }
  const required = [...asList(first.required), ...asList(second.required)];
  if (required.length > 0) joined.required = [...new Set(required)];
  return joined;
}

/** The schemas of which one must match; `undefined` where there is one alone. */
function branchesOf(schema: JsonObject): JsonObject[] | undefined {
  const { anyOf, oneOf, ...others } = schema;
  const given = Array.isArray(anyOf) ? anyOf : oneOf;
  const parent = without(others, BESIDE);
  if (Array.isArray(anyOf) && oneOf !== undefined) parent.oneOf = oneOf;
  if (Array.isArray(given) && given.length > 0) {
    return given.map((branch) => {
      const own = asObject(branch);
      // A parent's type says what every branch is, unless the branch knows better.
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

/** The schema without what is said of other types than these. */
function ofTypes(schema: JsonObject, types: JsonValue): JsonObject {
  const known = asList(types).map(kindOf);
  const kept = known.flatMap((type) => KEYWORDS[type] ?? []);
  const { default: usual } = schema;
  const isUsual = usual !== undefined && known.includes(typeOf(usual));
  const rest = without(schema, [
    ...TYPED_KEYWORDS.filter((word) => !kept.includes(word)),
    ...(isUsual ? [] : ["default"]),
  ]);
  if (!Array.isArray(rest.enum)) return rest;
  const values = rest.enum.filter((value) => known.includes(typeOf(value)));
  return values.length === 0
    ? without(rest, ["enum"])
    : { ...rest, enum: values };
}

/** The types that a schema names or, where it names none, that its other keywords are about. */
function typesOf(schema: JsonObject): string[] {
  const named = asList(schema.type).filter((type) => typeof type === "string");
  if (named.length > 0) return [...new Set(named)];
  if (Array.isArray(schema.enum) && schema.enum.length > 0) {
    return [...new Set(schema.enum.map(typeOf))];
  }
  const told = Object.keys(KEYWORDS).filter((type) =>
    KEYWORDS[type]?.some((word) => schema[word] !== undefined)
  );
  return told.length > 0 ? told : [...ANY_TYPES];
}

/** An integer is a number to every keyword. */
function kindOf(type: JsonValue): string {
  return type === "integer" ? "number" : String(type);
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** A schema of one type, with the schemas in it. */
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

/** The values that may be listed: an empty string, a null and a value of another type are refused. */
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

/** A list whose items have a schema each, in both spellings: any item may be any of them, and words keep the order. */
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

/** The branches of a branch, one level up. */
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

function asObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function asList(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
