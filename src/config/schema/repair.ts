import type { z } from "zod";
import { nearest } from "../problems.ts";
import { knownKeys } from "./keys.ts";
import { isMapping, valueAt } from "../tree_access.ts";

/**
 * A mapping less everything that an issue is about, so that the rest can be examined. A misspelt key
 * gets its right name, so that this one does not count as missing; a list with a fault in it is emptied.
 */
export function withoutFaults(
  schema: z.ZodType,
  value: unknown,
  issues: readonly z.core.$ZodIssue[],
): Record<string, unknown> {
  if (!isMapping(value)) return {};
  const rest = structuredClone(value);
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") {
      rename(rest, { schema, path: pathOf(issue), keys: issue.keys });
    } else {
      remove(rest, pathOf(issue));
    }
  }
  return rest;
}

/** The path of an issue; the values of a file have no symbols for keys. */
export function pathOf(issue: z.core.$ZodIssue): readonly (string | number)[] {
  return issue.path.filter((key) => typeof key !== "symbol");
}

function rename(
  tree: unknown,
  { schema, path, keys }: {
    readonly schema: z.ZodType;
    readonly path: readonly (string | number)[];
    readonly keys: readonly string[];
  },
): void {
  const mapping = valueAt(tree, path);
  if (!isMapping(mapping)) return;
  const known = knownKeys(schema, path);
  for (const key of keys) {
    const meant = nearest(key, known);
    if (meant !== undefined) mapping[meant] ??= mapping[key];
    delete mapping[key];
  }
}

function remove(
  mapping: Record<string, unknown>,
  [key = "", ...deeper]: readonly (string | number)[],
): void {
  const child = mapping[key];
  if (deeper.length === 0) delete mapping[key];
  else if (isMapping(child)) remove(child, deeper);
  else if (Array.isArray(child)) mapping[key] = [];
}
