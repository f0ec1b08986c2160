import { wordList } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  pickFields,
} from "@gateway/base/json";
import { mapInside, withDescription } from "./keywords.ts";
import { normalSchema } from "./normal_schema.ts";
import { definitionOf } from "./root_object.ts";

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

/** The fields that may be beside `anyOf`. All other fields belong in a branch of `anyOf`. */
const BESIDE = ["description"];

/** Fields that only describe a choice. They do not move into a branch that is a reference. */
const NOTES = wordList("title default examples deprecated readOnly writeOnly");

/** The types that a value may have when its schema names no type. */
const ANY_TYPES = ["string", "number", "boolean", "object", "array", "null"];

/** The most characters of all copies: definitions with further fields, and fields that move into branches. */
const MAX_CHARACTERS = 1024 * 1024;

/** What a copied or a merged definition costs beside its length, in characters. This bounds the number of copies. */
const COPY_COST = 256;
const MERGE_COST = 4096;

/** The definitions of the output. */
interface Definitions {
  /** The input, with its definitions. */
  readonly given: JsonObject;
  /** The name of each definition in the output. The key is its name in the input and the fields added to it. */
  readonly names: Map<string, string>;
  readonly written: Map<string, JsonObject>;
  /** The characters left for copies. Without this limit, nested choices would multiply the copies. */
  room: number;
}

/**
 * Returns `schema` in Moonshot's subset of JSON Schema. Each value has one `type` or an `anyOf`, and each list has one
 * schema for all items. Fields beside a reference move into a copy of the definition
 * (https://github.com/MoonshotAI/kimi-cli/issues/2061, https://github.com/lidge-jun/opencodex/pull/2677).
 */
export function moonshotSchema(schema: JsonObject): JsonObject {
  const given = normalSchema(schema);
  const { $defs: _all, ...rest } = given;
  const definitions: Definitions = {
    given,
    names: new Map(),
    written: new Map(),
    room: MAX_CHARACTERS,
  };
  const root = fit(rest, definitions);
  // The map grows while it is read: a definition may need other definitions.
  for (const [name, definition] of definitions.written) {
    definitions.written.set(name, fit(definition, definitions));
  }
  return definitions.written.size === 0
    ? root
    : { ...root, $defs: Object.fromEntries(definitions.written) };
}

function fit(
  schema: JsonValue | undefined,
  definitions: Definitions,
): JsonObject {
  if (!isJsonObject(schema)) return fit({ type: [...ANY_TYPES] }, definitions);
  const plain = withoutTuples(merged(schema, definitions), definitions);
  if (typeof plain.$ref === "string") return define(plain, definitions);
  const branches = branchesOf(plain, definitions);
  return branches === undefined ? fitOne(plain, definitions) : {
    ...pickFields(plain, (field) => BESIDE.includes(field)),
    anyOf: branches.map((one) => fit(one, definitions)).flatMap(spread),
  };
}

/** Returns only the reference of a schema. Its other fields move into a copy of the definition, if there is room. */
function define(schema: JsonObject, definitions: Definitions): JsonObject {
  const { $ref, ...fields } = schema;
  const wanted = String($ref).slice("#/$defs/".length);
  const target = definitionOf(String($ref), definitions.given);
  const { written, names } = definitions;
  const hasFields = Object.keys(fields).length > 0 &&
    take(target, definitions, COPY_COST);
  const key = `${wanted} ${hasFields ? JSON.stringify(fields) : ""}`;
  const known = names.get(key);
  if (known !== undefined) return { $ref: `#/$defs/${known}` };
  const isFree = (name: string) =>
    !written.has(name) &&
    (name === wanted ||
      !Object.hasOwn(objectOf(definitions.given.$defs), name));
  let name = wanted;
  for (let count = names.size; !isFree(name); count++) {
    name = `${wanted}_${count}`;
  }
  names.set(key, name);
  const { description, ...others } = hasFields ? fields : {};
  const isNew = typeof description === "string" &&
    !String(target.description).includes(description);
  const described = isNew ? withDescription(target, description) : target;
  written.set(name, join(described, others));
  return { $ref: `#/$defs/${name}` };
}

/** Takes the room for `times` copies of a schema. Returns false when too little room is left. */
function take(
  schema: JsonValue,
  definitions: Definitions,
  cost: number,
  times = 1,
): boolean {
  if (definitions.room < 0) return false;
  definitions.room -= cost + times * JSON.stringify(schema).length;
  return definitions.room >= 0;
}

/** Merges the parts of `allOf` into one schema, as far as they do not conflict. At most one reference remains. */
function merged(
  { allOf, const: only, ...rest }: JsonObject,
  definitions: Definitions,
): JsonObject {
  const given = only === undefined ? rest : { ...rest, enum: [only] };
  return objectsOf(allOf).map((part) => merged(part, definitions))
    .reduce((first, second) => {
      if (first.$ref === undefined || second.$ref === undefined) {
        return join(first, second);
      }
      const { $ref, ...own } = second;
      const target = definitionOf(String($ref), definitions.given);
      if (first.$ref === $ref || !take(target, definitions, MERGE_COST)) {
        return join(first, own);
      }
      const { $ref: _further, ...fields } = merged(target, definitions);
      return join(first, join(fields, own));
    }, given);
}

/** Combines two schemas. If both set the same keyword, the second schema wins. */
function join(first: JsonObject, second: JsonObject): JsonObject {
  const joined = { ...first, ...second };
  const fields = {
    ...objectOf(first.properties),
    ...objectOf(second.properties),
  };
  if (Object.keys(fields).length > 0) joined.properties = fields;
  const required = [...listOf(first.required), ...listOf(second.required)];
  if (required.length > 0) joined.required = [...new Set(required)];
  return joined;
}

/** Returns the alternatives of a schema; `undefined` when it has only one alternative. */
function branchesOf(
  schema: JsonObject,
  definitions: Definitions,
): JsonObject[] | undefined {
  const { anyOf, oneOf, ...others } = schema;
  const given = listOf(anyOf ?? oneOf);
  const types = typesOf(schema);
  const count = given.length > 0 ? given.length : types.length;
  if (given.length === 0 && count === 1) return undefined;
  const full = without(others, BESIDE);
  if (anyOf !== undefined && oneOf !== undefined) full.oneOf = oneOf;
  const parent = take(full, definitions, 0, count - 1) ? full : {};
  if (given.length > 0) {
    return given.map((branch) => {
      const own = objectOf(branch);
      if (own.$ref !== undefined) return join(without(parent, NOTES), own);
      // The parent's type applies to each branch that names no type.
      return join(
        own.type === undefined ? parent : ofTypes(parent, own.type),
        own,
      );
    });
  }
  return types.map((type) => ofTypes({ ...parent, type }, type));
}

/** Returns the schema without keywords and values that belong to other types than `types`. */
function ofTypes(schema: JsonObject, types: JsonValue): JsonObject {
  const known = [types].flat().map(kindOf);
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

/** Returns the types that a schema names. If it names no type, returns the types that its keywords imply. */
function typesOf(schema: JsonObject): string[] {
  const named = [schema.type].flat().filter((type) => typeof type === "string");
  if (named.length > 0) return [...new Set(named)];
  if (Array.isArray(schema.enum) && schema.enum.length > 0) {
    return [...new Set(schema.enum.map(typeOf))];
  }
  const implied = Object.keys(KEYWORDS).filter((type) =>
    KEYWORDS[type]?.some((word) => schema[word] !== undefined)
  );
  return implied.length > 0 ? implied : [...ANY_TYPES];
}

/** Returns the type whose keywords apply to `type`. For `integer`, this is `number`. */
function kindOf(type: JsonValue): string {
  return type === "integer" ? "number" : String(type);
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Fits a schema of one type and the schemas inside it. Adds each required property that `properties` lacks. */
function fitOne(schema: JsonObject, definitions: Definitions): JsonObject {
  const [type = "object"] = typesOf(schema);
  const { enum: values, items, ...others } = schema;
  const { properties, required, additionalProperties } = others;
  const missing = listOf(required)
    .filter((name) => !Object.hasOwn(objectOf(properties), String(name)))
    .map((name) => [name, objectOf(additionalProperties)]);
  if (missing.length > 0) {
    others.properties = {
      ...objectOf(properties),
      ...Object.fromEntries(missing),
    };
  }
  return {
    ...mapInside(others, (inner) => fit(inner, definitions)),
    ...(items === undefined ? {} : { items: fit(items, definitions) }),
    ...(items === false ? { maxItems: 0 } : {}),
    type,
    ...(Array.isArray(values) ? fitEnum(values, type) : {}),
  };
}

/** Returns the enum without empty strings, nulls and values of another type. Moonshot rejects such values. */
function fitEnum(values: readonly JsonValue[], type: string): JsonObject {
  const kept = values.filter((value) =>
    value !== "" && value !== null && typeOf(value) === kindOf(type) &&
    (type !== "integer" || Number.isInteger(value))
  );
  return kept.length === 0 ? {} : { enum: kept };
}

/** Converts a tuple to a list whose items may match any of the tuple's schemas. The description lists these schemas. */
function withoutTuples(
  { prefixItems, ...rest }: JsonObject,
  definitions: Definitions,
): JsonObject {
  if (!Array.isArray(prefixItems)) return rest;
  const { items: further, ...list } = rest;
  if (further === false) list.maxItems = prefixItems.length;
  const isOpen = Object.keys(objectOf(further)).length > 0;
  const kinds = isOpen ? [...prefixItems, further ?? {}] : prefixItems;
  if (!take(prefixItems, definitions, 0)) {
    return { ...list, items: { anyOf: kinds } };
  }
  const distinct = [
    ...new Map(kinds.map((kind) => [JSON.stringify(kind), kind])).values(),
  ];
  return distinct.length === 1
    ? { ...list, items: distinct[0] }
    : withDescription(
      { ...list, items: { anyOf: distinct } },
      `The first items match, in this order: ${JSON.stringify(prefixItems)}`,
    );
}

/** If a schema is only an `anyOf`, returns its branches. Otherwise returns the schema itself. */
function spread(schema: JsonObject): JsonValue[] {
  return Array.isArray(schema.anyOf) && Object.keys(schema).length === 1
    ? schema.anyOf
    : [schema];
}

function without(schema: JsonObject, fields: readonly string[]): JsonObject {
  return pickFields(schema, (field) => !fields.includes(field));
}
