import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { LossReport } from "../request/loss.ts";
import { mapSchemas, withDescription } from "./keywords.ts";
import { moonshotSchema } from "./moonshot_schema.ts";
import { normalSchema } from "./normal_schema.ts";
import { objectSchema, withBareReferences } from "./object_schema.ts";
import { isGrammarPattern, isPortablePattern } from "./portable_pattern.ts";
import { followRoot, rootObject } from "./root_object.ts";

/** The part of JSON Schema, draft 2020-12, that a provider accepts. */
export interface SchemaSubset {
  /** True when the arguments of a tool must be an object without a reference or a choice at their root. */
  readonly plainRoot: boolean;
  /** The patterns that the provider compiles: all, those of every engine, or those that llama.cpp makes a grammar of. */
  readonly patterns: "all" | "portable" | "grammar";
  /** True when schemas must be in Moonshot's own subset. */
  readonly isMoonshot: boolean;
}

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
 * Returns the schema in the form that the provider accepts. Patterns that it cannot compile move into the descriptions
 * beside them, where the model reads them, and are reported.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function fitSchema(
  schema: JsonObject,
  { patterns, isMoonshot }: SchemaSubset,
  losses: LossReport,
): JsonObject {
  const normal = normalSchema(schema);
  if (isMoonshot) return moonshotSchema(normal);
  if (patterns === "all") return normal;
  const isAccepted = patterns === "portable"
    ? isPortablePattern
    : isGrammarPattern;
  const bare = patterns === "portable"
    ? withBareReferences(followRoot(normal))
    : normal;
  const fitted = mapSchemas(
    bare,
    (one) => withoutPatternNames(withoutPattern(one, isAccepted), isAccepted),
  );
  if (fitted !== bare) {
    losses.reportDropped(
      { extra: "pattern" },
      "this model's provider cannot compile that regular expression",
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
 * Moves name patterns that are not portable into the description. It then removes `additionalProperties: false`, which
 * would forbid the properties of a moved pattern.
 */
function withoutPatternNames(
  schema: JsonObject,
  isAccepted: PatternCheck,
): JsonObject {
  const { patternProperties } = schema;
  if (!isJsonObject(patternProperties)) return schema;
  const all = Object.entries(patternProperties);
  const kept = all.filter(([pattern]) => isAccepted(pattern));
  if (kept.length === all.length) return schema;
  const { patternProperties: _all, additionalProperties, ...rest } = schema;
  const moved = all.filter((one) => !kept.includes(one)).map((
    [pattern, value],
  ) => `${pattern}: ${JSON.stringify(value)}`);
  return withDescription(
    {
      ...rest,
      ...(kept.length === 0
        ? {}
        : { patternProperties: Object.fromEntries(kept) }),
      ...(additionalProperties === undefined || additionalProperties === false
        ? {}
        : { additionalProperties }),
    },
    `Properties whose names match a regular expression: ${moved.join(", ")}`,
  );
}
