/**
 * The typed face of `deno-std`, the npm edition of `@std`, which ships no types. A host that reaches JSR
 * may map `@std/…` to `jsr:@std/…` in `deno.json` instead; the signatures are the same.
 */
import { mapValues as stdMapValues } from "@std/collections/map-values";
import { closestString as stdClosestString } from "@std/text/closest-string";
import { levenshteinDistance as stdLevenshteinDistance } from "@std/text/levenshtein-distance";
import { generate as stdUuidV5 } from "@std/uuid/v5";
import { parse as stdParseYaml } from "@std/yaml/parse";
import { stringify as stdStringifyYaml } from "@std/yaml/stringify";

/** How {@linkcode parseYaml} reads plain scalars. */
interface ParseYamlOptions {
  /** `core` is the schema of YAML 1.2: a date stays text and `<<` is a key like any other. */
  readonly schema?: "core" | "default";
}

/** A record with the same keys, each value made of the one that stood there. */
export const mapValues: <Value, Name extends string, Result>(
  record: Readonly<Record<Name, Value>>,
  make: (value: Value, name: Name) => Result,
) => Record<Name, Result> = stdMapValues;

/** Reads one YAML document. Throws a `SyntaxError` that names line and column. */
export const parseYaml: (text: string, options?: ParseYamlOptions) => unknown =
  stdParseYaml;

/** Writes a value as YAML. */
export const stringifyYaml: (value: unknown) => string = stdStringifyYaml;

/** The UUIDv5 of `data` in `namespace`. */
export const uuidV5: (namespace: string, data: Uint8Array) => Promise<string> =
  stdUuidV5;

/** The one of `options` with the smallest edit distance to `given`; `options` must not be empty. */
export const closestString: (
  given: string,
  options: readonly string[],
) => string = stdClosestString;

/** How many single-character edits lie between two texts. */
export const levenshteinDistance: (one: string, other: string) => number =
  stdLevenshteinDistance;
