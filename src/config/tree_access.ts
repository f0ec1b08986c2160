import type { Path } from "./problems.ts";

/** Whether a value of the file is a mapping. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The value at a path. Where the path goes on below a single value, that value: a text may stand for a
 * mapping, as a model's id does.
 */
export function valueAt(tree: unknown, path: Path): unknown {
  let found = tree;
  for (const key of path) {
    if (typeof found !== "object" || found === null) return found;
    found = Reflect.get(found, key);
  }
  return found;
}

/** The list under a key of any value; empty when there is none. */
export function listAt(value: unknown, key: string): readonly unknown[] {
  const list = isMapping(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}

/** The text under a key of any value. */
export function textAt(value: unknown, key: string): string | undefined {
  const text = isMapping(value) ? value[key] : undefined;
  return typeof text === "string" ? text : undefined;
}
