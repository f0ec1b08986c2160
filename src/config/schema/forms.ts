import type { z } from "zod";

/** A JSON Schema. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const ALSO_WRITTEN = "alsoWritten";

/**
 * For a schema's `meta`: other forms in which its value may be written, because it prepares the value
 * before it validates it, of which zod's own JSON Schema cannot tell.
 */
export function alsoWritten(
  ...forms: readonly JsonSchema[]
): Readonly<Record<string, unknown>> {
  return { [ALSO_WRITTEN]: forms };
}

/**
 * Takes the other forms out of a schema that has them.
 *
 * @returns The schema without them, and them.
 */
export function takeForms(
  schema: JsonSchema,
): { readonly own: JsonSchema; readonly forms: readonly JsonSchema[] } {
  const { anyOf = [], [ALSO_WRITTEN]: written, ...own } = schema;
  return { own, forms: [...anyOf, ...isForms(written) ? written : []] };
}

function isForms(value: unknown): value is readonly JsonSchema[] {
  return Array.isArray(value);
}
