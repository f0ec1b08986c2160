import { lookup } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  present,
} from "@gateway/base/json";
import { oncePer } from "@gateway/base/memo";
import {
  mapInside,
  SCHEMA_LISTS,
  SCHEMA_MAPS,
  SCHEMAS,
  withDescription,
} from "./keywords.ts";
import { CHECKS, isPlain, namesOf, typesOf } from "./plain_schema.ts";

/** A schema, and the URI of the resource around it. */
interface Place {
  readonly schema: JsonValue;
  readonly base: string;
  /**
   * True inside `$defs`. There, a schema that has its own definition becomes a reference to this definition. This rule
   * bounds the size of the output.
   */
  readonly isDefinition?: boolean;
}

/** A schema that gets a name in `$defs`, if a reference needs it. */
interface Definition extends Place {
  readonly name: string;
}

/** The URI of a schema without an id. */
const ROOT_URI = "schema:/";

/** The words in a schema's description that replace a reference to nothing. */
export const UNKNOWN_REFERENCE = "Must match the schema";

const DEFINITIONS = ["$defs", "definitions"];

const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

/**
 * Returns a schema of any draft as valid draft 2020-12 with the same meaning. Every reference names a definition in the
 * `$defs` of the root, so moving any other part breaks no reference. Ids, anchors and unused definitions are gone.
 * Values that no draft allows are left out, such as `required: null` and unknown types. Each list has `items`.
 *
 * A reference to nothing moves into the description. The output is at most about twice as large as the input.
 */
export const normalSchema: (schema: JsonObject) => JsonObject = oncePer(
  (schema) => {
    const { $schema: draft, ...rest } = schema;
    if (draft !== undefined) return normalSchema(rest);
    return isPlain(schema) ? schema : new Normalizer(schema).write();
  },
);

class Normalizer {
  readonly #root: JsonObject;
  /** The schemas with an id or an anchor. */
  readonly #byUri = new Map<string, Place>();
  readonly #definitions = new Map<JsonValue, Definition>();
  readonly #names = new Set<string>();
  /** The definitions that the output refers to. */
  readonly #needed = new Set<Definition>();
  /** Keywords of the root that no draft knows but that contain targets of references, such as `components`. */
  readonly #holders = new Set<string>();
  readonly #seen = new Set<JsonValue>();
  readonly #references: { readonly reference: string; base: string }[] = [];
  #count = 2;

  constructor(root: JsonObject) {
    this.#root = root;
    const whole: Place = { schema: root, base: ROOT_URI };
    this.#byUri.set(ROOT_URI, whole);
    const base = baseOf(root, ROOT_URI);
    for (const keyword of DEFINITIONS) {
      for (const [name, schema] of Object.entries(objectOf(root[keyword]))) {
        if (isJsonObject(schema)) this.#define({ schema, base }, name);
      }
    }
    this.#collect(whole);
    // The list grows while it is read: a target may hold further references.
    for (const { reference, base } of this.#references) {
      const place = this.#find(reference, base);
      if (!isJsonObject(place?.schema)) continue;
      this.#define(place, reference);
      const [, holder = ""] = reference.split("/");
      if (
        ![SCHEMAS, SCHEMA_LISTS, SCHEMA_MAPS].some((one) => one.has(holder))
      ) {
        this.#holders.add(holder);
      }
      this.#collect(place);
    }
  }

  write(): JsonObject {
    const main = this.#write({ schema: this.#root, base: ROOT_URI });
    const definitions: [string, JsonObject][] = [];
    // The set grows while it is read.
    for (const one of this.#needed) {
      definitions.push([
        one.name,
        this.#write({ ...one, isDefinition: true }),
      ]);
    }
    return definitions.length === 0
      ? main
      : { ...main, $defs: Object.fromEntries(definitions) };
  }

  /** Finds the ids, anchors and references of a schema and of the schemas inside it. */
  #collect(place: Place): void {
    const { schema } = place;
    if (!isJsonObject(schema) || this.#seen.has(schema)) return;
    this.#seen.add(schema);
    const base = baseOf(schema, place.base);
    const { $id, id, $anchor = $id ?? id, $dynamicAnchor } = schema;
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor !== "string") continue;
      const uri = `${base}#${anchor.replace("#", "")}`;
      if (!this.#byUri.has(uri)) this.#byUri.set(uri, place);
    }
    if (!this.#byUri.has(base)) this.#byUri.set(base, place);
    for (const keyword of REFERENCES) {
      const reference = schema[keyword];
      if (typeof reference === "string") {
        this.#references.push({ reference, base });
      }
    }
    mapInside(schema, (inner) => {
      this.#collect({ schema: inner, base });
      return inner;
    });
  }

  /**
   * Finds the schema that a reference means. The reference is a JSON pointer, an anchor or the URI of a resource. If it
   * leads to nothing, as `#/components/schemas/City` may, it means the definition with its last word as name: `City`.
   */
  #find(reference: string, base: string): Place | undefined {
    const [start = "", fragment = ""] = (URL.parse(reference, base)?.href ?? "")
      .split("#");
    const anchored = this.#byUri.get(`${start}#${fragment}`);
    if (anchored !== undefined) return anchored;
    const resource = this.#byUri.get(start);
    const pointer = decoded(fragment);
    if (resource !== undefined && pointer === "") return resource;
    const whole: Place = { schema: this.#root, base: ROOT_URI };
    const last = decoded(reference.split(/[#/]/).at(-1) ?? "");
    return [
      follow(resource ?? whole, pointer),
      follow(whole, pointer),
      ...DEFINITIONS.map((keyword) => follow(whole, `/${keyword}/${last}`)),
    ].find((place) => place !== undefined);
  }

  /** Returns the definition of a schema. A new definition gets a name like the last part of `path`. */
  #define({ schema, base }: Place, path: string): Definition {
    const known = this.#definitions.get(schema);
    if (known !== undefined) return known;
    const last = path.split(/[#/]/).at(-1)?.replaceAll(/[^\w.-]/g, "_");
    const wanted = last === undefined || last === "" ? "root" : last;
    let name = wanted;
    while (this.#names.has(name)) name = `${wanted}_${this.#count++}`;
    const definition = { name, schema, base };
    this.#names.add(name);
    this.#definitions.set(schema, definition);
    return definition;
  }

  #write(place: Place): JsonObject {
    const schema = objectOf(place.schema);
    const inside = { ...place, base: baseOf(schema, place.base) };
    const fields = new Map<string, JsonValue>();
    for (const [keyword, value] of Object.entries(modern(schema))) {
      if (schema === this.#root && this.#holders.has(keyword)) continue;
      const written = this.#writeKeyword(keyword, {
        ...inside,
        schema: value ?? null,
      });
      if (written !== undefined) fields.set(keyword, written);
    }
    const items = fields.get("items") ?? !fields.has("unevaluatedItems");
    const isList = [fields.get("type")].flat().includes("array");
    if (isList && items === true) fields.set("items", {});
    const { $ref: reference, ...rest } = Object.fromEntries(fields);
    if (typeof reference !== "string") return rest;
    const target = this.#find(reference, inside.base)?.schema;
    if (typeof target === "boolean") {
      return target ? rest : { ...rest, not: {} };
    }
    const definition = this.#definitions.get(target ?? null);
    return definition === undefined
      ? withDescription(rest, `${UNKNOWN_REFERENCE} ${reference}`)
      : { ...Object.fromEntries(fields), ...this.#refer(definition) };
  }

  #refer(definition: Definition): JsonObject {
    this.#needed.add(definition);
    return { $ref: `#/$defs/${definition.name}` };
  }

  /** Returns the value of a keyword in valid 2020-12; `undefined` when the value has no valid form. */
  #writeKeyword(keyword: string, place: Place): JsonValue | undefined {
    const { schema: value } = place;
    if (SCHEMAS.has(keyword)) return this.#writeInner(place);
    const writeObject = (schema: JsonValue = null) => {
      const inner = this.#writeInner({ ...place, schema });
      return inner === false ? { not: {} } : objectOf(inner);
    };
    if (SCHEMA_LISTS.has(keyword)) {
      const list = isJsonObject(value) ? [value] : listOf(value);
      return list.length === 0 ? undefined : list.map(writeObject);
    }
    if (DEFINITIONS.includes(keyword)) return undefined;
    if (SCHEMA_MAPS.has(keyword)) return writeMap(value, writeObject);
    if (keyword === "type") return typesOf(value);
    if (keyword === "required") return namesOf(value);
    if (keyword === "dependentRequired") {
      return writeMap(value, (names) => namesOf(names) ?? []);
    }
    return CHECKS.get(keyword)?.(value) === false ? undefined : value;
  }

  /**
   * Writes an inner schema; returns `undefined` for any other value. An empty list counts as an empty object, because
   * PHP writes an empty object as a list.
   */
  #writeInner(place: Place): JsonValue | undefined {
    const { schema, isDefinition = false } = place;
    if (typeof schema === "boolean") return schema;
    if (Array.isArray(schema) && schema.length === 0) return {};
    if (!isJsonObject(schema)) return undefined;
    const definition = isDefinition ? this.#definitions.get(schema) : undefined;
    return definition === undefined
      ? this.#write(place)
      : this.#refer(definition);
  }
}

/** Returns the URI against which the references of a schema are resolved. Draft 4 spells `$id` as `id`. */
function baseOf(schema: JsonValue, base: string): string {
  const { $id, id = undefined } = objectOf(schema);
  const own = typeof $id === "string" ? $id : id;
  if (typeof own !== "string" || own.startsWith("#")) return base;
  return URL.parse(own, base)?.href.split("#")[0] ?? base;
}

/** Returns the schema at a JSON pointer; `undefined` when the pointer leads to no schema. */
function follow(place: Place, pointer: string): Place | undefined {
  if (!pointer.startsWith("/")) return undefined;
  let { schema, base } = place;
  for (const token of pointer.slice(1).split("/")) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    base = baseOf(schema, base);
    const next: JsonValue | undefined = Array.isArray(schema)
      ? schema.at(/^\d+$/.test(key) ? Number(key) : Infinity)
      : lookup(objectOf(schema), key);
    if (next === undefined) return undefined;
    schema = next;
  }
  const isSchema = isJsonObject(schema) || typeof schema === "boolean";
  return isSchema ? { schema, base } : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Replaces the keywords of older drafts with keywords of 2020-12. Inner schemas do not change. */
function modern(schema: JsonObject): JsonObject {
  const { nullable, dependencies, additionalItems, ...rest } = schema;
  const { type, items, required } = rest;
  const [$ref, ...further] = REFERENCES.map((keyword) => schema[keyword])
    .filter((reference) => typeof reference === "string");
  const [only, ...others] = listOf(rest.allOf);
  const { $ref: target, ...beside } = objectOf(only);
  const isWrapped = $ref === undefined && typeof target === "string" &&
    others.length + Object.keys(beside).length === 0;
  const choice = $ref ?? rest.anyOf ?? rest.oneOf ?? rest.allOf;
  if (nullable === true && type === undefined && choice !== undefined) {
    const { nullable: _null, ...given } = schema;
    return { anyOf: [given, { type: "null" }] };
  }
  const entries = Object.entries(objectOf(dependencies));
  const lists = entries.filter(([, one]) => Array.isArray(one));
  const schemas = entries.filter(([, one]) => !Array.isArray(one));
  const flagged = Object.entries(objectOf(rest.properties))
    .filter(([, property]) => objectOf(property).required === true)
    .map(([name]) => name);
  const changes: [boolean, JsonObject][] = [
    [$ref !== undefined, { $ref }],
    // Pydantic 1 wraps a reference with a description in `allOf`.
    [isWrapped, { $ref: target, allOf: undefined }],
    [further.length > 0, {
      allOf: [...listOf(rest.allOf), ...further.map((one) => ({ $ref: one }))],
    }],
    [nullable === true && type !== undefined, {
      type: [type ?? [], "null"].flat(),
    }],
    // Up to draft 4, the exclusive bounds are flags beside `minimum` and `maximum`.
    [rest.exclusiveMinimum === true, {
      minimum: undefined,
      exclusiveMinimum: rest.minimum,
    }],
    [rest.exclusiveMaximum === true, {
      maximum: undefined,
      exclusiveMaximum: rest.maximum,
    }],
    [Array.isArray(items), {
      prefixItems: rest.prefixItems ?? items,
      items: additionalItems,
    }],
    [flagged.length > 0, { required: [...listOf(required), ...flagged] }],
    [lists.length > 0, {
      dependentRequired: {
        ...Object.fromEntries(lists),
        ...objectOf(rest.dependentRequired),
      },
    }],
    [schemas.length > 0, {
      dependentSchemas: {
        ...Object.fromEntries(schemas),
        ...objectOf(rest.dependentSchemas),
      },
    }],
  ];
  const made = changes.filter(([isMade]) => isMade).map(([, change]) => change);
  return present(Object.assign(rest, ...made));
}

function writeMap(
  map: JsonValue,
  edit: (value: JsonValue | undefined) => JsonValue,
): JsonObject | undefined {
  if (Array.isArray(map)) return {};
  return isJsonObject(map)
    ? Object.fromEntries(
      Object.entries(map).map(([name, value]) => [name, edit(value)]),
    )
    : undefined;
}
