import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import type { Random } from "../fakes/random.ts";

/** The drafts of JSON Schema that {@linkcode randomSchema} writes. */
export const DRAFTS = ["4", "6", "7", "2019", "2020"] as const;

export type Draft = typeof DRAFTS[number];

const DRAFT_URIS: Readonly<Record<Draft, string>> = {
  "4": "http://json-schema.org/draft-04/schema#",
  "6": "http://json-schema.org/draft-06/schema#",
  "7": "http://json-schema.org/draft-07/schema#",
  "2019": "https://json-schema.org/draft/2019-09/schema",
  "2020": "https://json-schema.org/draft/2020-12/schema",
};

const NAMES = ["a", "b", "to", "$ref", "required", "__proto__"];

const DEFINED = ["Place", "A/b", "per~cent", "with space", "$defs"];

/** The state of writing one schema. */
interface Writing {
  readonly random: Random;
  readonly draft: Draft;
  /** The references that the schema may use. */
  readonly references: readonly string[];
}

/** Returns a valid schema of a draft. It uses the keywords that drafts spell differently. */
export function randomSchema(random: Random, draft: Draft): JsonObject {
  const isOld = draft === "4" || draft === "6" || draft === "7";
  const holder = isOld ? "definitions" : "$defs";
  const references = [
    "#",
    ...DEFINED.map((name) => `#/${holder}/${pointerToken(name)}`),
    "#/properties/first",
    "#/anyOf/0/properties/to",
    "#named",
    ...(draft === "2019" ? [RECURSIVE] : []),
    ...(draft === "2020" ? [DYNAMIC] : []),
  ];
  const writing = { random, draft, references };
  const inner = () => schemaOf(3, writing);
  const definitions = fromEntries(DEFINED.map((name) => [name, inner()]));
  const anchor = isOld
    ? { [draft === "4" ? "id" : "$id"]: "#named" }
    : draft === "2019"
    ? { $anchor: "named" }
    : { $dynamicAnchor: "named" };
  return {
    $schema: DRAFT_URIS[draft],
    type: "object",
    properties: {
      ...fromEntries(
        NAMES.filter(() => random.below(2) === 0).map((
          name,
        ) => [name, inner()]),
      ),
      first: plainSchema(writing),
      last: inner(),
    },
    anyOf: [
      { type: "object", properties: { to: plainSchema(writing) } },
      { properties: { cc: inner() } },
    ],
    [holder]: {
      ...definitions,
      marked: { ...anchor, ...plainSchema(writing) },
    },
    ...(draft === "2019" ? { $recursiveAnchor: true } : {}),
  };
}

const RECURSIVE = "recursive";
const DYNAMIC = "dynamic";

function pointerToken(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function fromEntries(entries: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(entries);
}

function schemaOf(depth: number, writing: Writing): JsonObject {
  const { random, references } = writing;
  if (depth === 0) return plainSchema(writing);
  switch (random.below(8)) {
    case 0:
      return plainSchema(writing);
    case 1:
      return numberSchema(writing);
    case 2:
    case 3:
      return objectSchema(depth - 1, writing);
    case 4:
      return listSchema(depth - 1, writing);
    case 5:
      return choiceSchema(depth - 1, writing);
    default: {
      const reference = random.pick(references);
      // A reference behind a property or an item ends with each value.
      const target = reference === RECURSIVE
        ? { $recursiveRef: "#" }
        : reference === DYNAMIC
        ? { $dynamicRef: "#named" }
        : { $ref: reference };
      return { type: "object", properties: { a: target, b: target } };
    }
  }
}

/** Returns a schema without subschemas. */
function plainSchema({ random, draft }: Writing): JsonObject {
  return random.pick<() => JsonObject>([
    () => ({ type: "string", minLength: random.below(3), title: "t" }),
    () => ({ type: ["string", "null"], pattern: "^a" }),
    () => ({ enum: ["a", 1, null] }),
    () => ({ type: "boolean", default: false }),
    () => ({ type: "array", minItems: 1 }),
    () => (draft === "4" ? { enum: [1] } : { const: 1 }),
    () => ({}),
  ])();
}

function numberSchema({ random, draft }: Writing): JsonObject {
  const type = random.pick(["number", "integer"]);
  const bound = random.below(4);
  const flag = random.below(2) === 0;
  const exclusive = random.pick(["exclusiveMinimum", "exclusiveMaximum"]);
  const plain = exclusive === "exclusiveMinimum" ? "minimum" : "maximum";
  return draft === "4"
    ? { type, [plain]: bound, [exclusive]: flag, multipleOf: 1 }
    : { type, [exclusive]: bound };
}

function objectSchema(depth: number, writing: Writing): JsonObject {
  const { random, draft } = writing;
  const inner = () => schemaOf(depth, writing);
  const isOld = draft === "4" || draft === "6" || draft === "7";
  const further = random.pick<() => JsonObject>([
    () => ({}),
    () => ({ additionalProperties: random.below(2) === 0 }),
    () => ({ additionalProperties: inner() }),
    () => ({ patternProperties: { "^b": inner() } }),
    () => ({ required: ["a"], maxProperties: 2 }),
    () =>
      isOld ? { dependencies: { a: ["b"], to: inner() } } : {
        dependentRequired: { a: ["b"] },
        dependentSchemas: { to: inner() },
      },
  ])();
  const names = NAMES.filter(() => random.below(3) === 0);
  return {
    type: "object",
    properties: fromEntries(names.map((name) => [name, inner()])),
    ...further,
  };
}

function listSchema(depth: number, writing: Writing): JsonObject {
  const { random, draft } = writing;
  const inner = () => schemaOf(depth, writing);
  switch (random.below(4)) {
    case 0:
      return { type: "array" };
    case 1:
      return { type: "array", items: inner(), uniqueItems: true };
    default: {
      const first = [inner(), inner()];
      const rest = random.pick<() => JsonValue | undefined>([
        () => undefined,
        () => false,
        inner,
      ])();
      return JSON.parse(JSON.stringify(
        draft === "2020"
          ? { type: "array", prefixItems: first, items: rest }
          : { type: "array", items: first, additionalItems: rest },
      ));
    }
  }
}

function choiceSchema(depth: number, writing: Writing): JsonObject {
  const { random } = writing;
  const word = random.pick(["anyOf", "oneOf", "allOf"]);
  const inner = () => schemaOf(depth, writing);
  return random.below(5) === 0
    ? { not: inner() }
    : { [word]: [inner(), inner()] };
}

/** Returns a random value to test against a {@linkcode randomSchema}. */
export function randomInstance(random: Random, depth = 3): JsonValue {
  if (depth === 0 || random.below(3) === 0) {
    return random.pick<JsonValue>([null, true, 0, 1, 2, 3, 1.5, "", "a", "bc"]);
  }
  const inner = () => randomInstance(random, depth - 1);
  if (random.below(3) === 0) {
    return Array.from({ length: random.below(4) }, inner);
  }
  const names = [...NAMES, "first", "last", "cc"]
    .filter(() => random.below(3) === 0);
  return fromEntries(names.map((name) => [name, inner()]));
}
