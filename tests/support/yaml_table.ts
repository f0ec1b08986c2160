import assert from "node:assert/strict";
import { parseYaml } from "./yaml.ts";

/** The text of the row, the mapping that it begins with, and what that leads to. */
type YamlRow = readonly [
  row: string,
  fields: Readonly<Record<string, unknown>>,
  result: string,
];

/**
 * Reads a table of one row a line: a mapping in YAML, ` → ` and what that leads to. A key with `<absent>` is undefined.
 */
export function yamlTable(text: string): readonly YamlRow[] {
  return text.trim().split("\n").map((row): YamlRow => {
    const [mapping = "", result] = row.split(" → ");
    assert.ok(result !== undefined, `${row} has no arrow`);
    const fields = Object.entries(Object(parseYaml(mapping, SCHEMA)))
      .map(([key, value]) => [key, value === "<absent>" ? undefined : value]);
    return [row, Object.fromEntries(fields), result];
  });
}

const SCHEMA = { schema: "core" } as const;
