import { formatPath, type Path, type Problem } from "./problems.ts";

/** A copied tree, or why it cannot be copied. */
export type TreeResult = { readonly value: unknown } | {
  readonly problem: Problem;
};

/** More than any honest file needs; aliases of aliases reach it within a few lines. */
const MAX_NODES = 1_000_000;
const MAX_DEPTH = 32;

/**
 * Copies what YAML gave, with every text replaced by what `mapText` makes of it.
 *
 * Aliases make one node stand in many places, even inside itself; the copy is bounded, so that a few
 * lines of aliases cannot fill the memory.
 */
export function copyTree(
  tree: unknown,
  mapText: (text: string, path: Path) => string,
): TreeResult {
  let nodes = 0;
  const copy = (node: unknown, path: Path): unknown => {
    if (typeof node === "string") return mapText(node, path);
    if (typeof node !== "object" || node === null) return node;
    if (path.length > MAX_DEPTH) {
      throw new TreeError(path, "is nested too deeply for a configuration");
    }
    const entries = Object.entries(node);
    nodes += entries.length;
    if (nodes > MAX_NODES) {
      const message =
        `holds more than ${MAX_NODES} values; are aliases to blame?`;
      throw new TreeError([], message);
    }
    if (Array.isArray(node)) {
      return node.map((item, index) => copy(item, [...path, index]));
    }
    if (Object.hasOwn(node, "__proto__")) {
      throw new TreeError([...path, "__proto__"], "is not a known key here");
    }
    return Object.fromEntries(
      entries.map(([key, value]) => [key, copy(value, [...path, key])]),
    );
  };
  try {
    return { value: copy(tree, []) };
  } catch (error) {
    if (error instanceof TreeError) return { problem: error.problem };
    throw error;
  }
}

class TreeError extends Error {
  readonly problem: Problem;

  constructor(path: Path, message: string) {
    super(message);
    this.problem = { path: formatPath(path), message };
  }
}
