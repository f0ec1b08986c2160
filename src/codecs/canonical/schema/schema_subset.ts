import { wordSet } from "@gateway/base/collections";
import { type JsonObject, listOf, objectOf, present } from "@gateway/base/json";
import type { LossReport } from "../request/loss.ts";
import { mapSchemas, withDescription } from "./keywords.ts";
import { moonshotSchema } from "./moonshot_schema.ts";
import { normalSchema } from "./normal_schema.ts";
import { objectSchema, withBareReferences } from "./object_schema.ts";
import { isGrammarPattern, isPortablePattern } from "./portable_pattern.ts";
import { followRoot, rootObject } from "./root_object.ts";
import { limitLevels } from "./schema_levels.ts";

/** The part of JSON Schema, draft 2020-12, that a provider accepts. */
export interface SchemaSubset {
  /** True when the arguments of a tool must be an object without a reference or a choice at their root. */
  readonly plainRoot: boolean;
  /**
   * The patterns that the provider compiles: all patterns, patterns that every engine compiles, or patterns that
   * fit llama.cpp's grammars.
   */
  readonly patterns: "all" | "portable" | "grammar";
  /** True when schemas must be in Moonshot's own subset. */
  readonly isMoonshot: boolean;
}

/** Every schema of draft 2020-12. */
export const ALL_SCHEMAS: SchemaSubset = {
  plainRoot: false,
  patterns: "all",
  isMoonshot: false,
};

/** Returns the schema of a tool's arguments in the form that the provider accepts. */
export function fitArguments(
  schema: JsonObject | undefined,
  subset: SchemaSubset,
  losses: LossReport,
): JsonObject {
  const root = subset.plainRoot ? rootObject(schema) : schema;
  return fitSchema(objectSchema(root), subset, losses);
}

/**
 * Returns the schema in the form that the provider accepts. Patterns that the provider cannot compile and properties
 * beyond its last level are reported. They move into the descriptions beside them, where the model reads them.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function fitSchema(
  schema: JsonObject,
  { patterns, isMoonshot }: SchemaSubset,
  losses: LossReport,
): JsonObject {
  const normal = normalSchema(schema);
  if (isMoonshot) return fitMoonshot(normal, losses);
  if (patterns === "all") return normal;
  const isAccepted = patterns === "portable"
    ? isPortablePattern
    : isGrammarPattern;
  const bare = patterns === "portable"
    ? withBareReferences(followRoot(normal))
    : normal;
  const fitted = mapSchemas(
    bare,
    (one) =>
      withoutNames(
        withoutPattern(one, isAccepted),
        "patternProperties",
        isAccepted,
        "Properties whose names match a regular expression",
      ),
  );
  if (fitted !== bare) {
    losses.reportDropped(
      { extra: "pattern" },
      "this model's provider cannot compile a regular expression of the schema",
    );
  }
  return fitted;
}

/** "schema depth exceeds maximum limit of 10" (https://github.com/anomalyco/opencode/issues/25495). */
const MAX_LEVELS = 10;

/** "property name 'required' is reserved for JSON Schema keywords" (https://github.com/MoonshotAI/walle). */
const RESERVED_NAMES = wordSet(`
  $defs $ref anyOf required additionalProperties
`);

function fitMoonshot(normal: JsonObject, losses: LossReport): JsonObject {
  const named = mapSchemas(normal, (one) =>
    withoutNames(
      one,
      "properties",
      (name) => !RESERVED_NAMES.has(name),
      "Further properties",
    ));
  const schema = moonshotSchema(named);
  const fitted = limitLevels(schema, MAX_LEVELS);
  if (fitted !== schema || named !== normal) {
    losses.reportDropped(
      { extra: "properties" },
      `this model's provider takes at most ${MAX_LEVELS} levels of properties, and none named ${
        [...RESERVED_NAMES].join(", ")
      }`,
    );
  }
  return fitted;
}

/** Returns true when the provider compiles a pattern. */
type PatternCheck = (pattern: string) => boolean;

function withoutPattern(
  schema: JsonObject,
  isAccepted: PatternCheck,
): JsonObject {
  const { pattern, ...rest } = schema;
  if (typeof pattern !== "string" || isAccepted(pattern)) return schema;
  return withDescription(rest, `Must match the regular expression ${pattern}`);
}

/**
 * Moves properties with rejected names, or patterns of names, into the description. Then removes `additionalProperties:
 * false`, because it would forbid the moved properties.
 */
function withoutNames(
  schema: JsonObject,
  keyword: "properties" | "patternProperties",
  isAccepted: (name: string) => boolean,
  words: string,
): JsonObject {
  const all = Object.entries(objectOf(schema[keyword]));
  const kept = all.filter(([name]) => isAccepted(name));
  if (kept.length === all.length) return schema;
  const { additionalProperties, ...rest } = schema;
  const moved = all.filter((one) => !kept.includes(one))
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return withDescription(
    present({
      ...rest,
      [keyword]: kept.length === 0 ? undefined : Object.fromEntries(kept),
      additionalProperties: additionalProperties === false
        ? undefined
        : additionalProperties,
      required: keyword === "properties" && rest.required !== undefined
        ? listOf(rest.required).filter((name) => isAccepted(String(name)))
        : rest.required,
    }),
    `${words}: ${moved.join(", ")}`,
  );
}
