import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/base/json.ts";
import { parseYaml } from "./yaml.ts";

/** The name of the row, or its text if it has none, then its mapping and its result. */
type YamlRow = readonly [name: string, fields: JsonObject, result: string];

/**
 * Reads a table. A row has an optional name with a colon, a mapping in YAML, ` → ` and a result. The value `<absent>`
 * means undefined.
 */
export function yamlTable(text: string): readonly YamlRow[] {
  return rowsOf(text).map((row): YamlRow => {
    const [before = "", result] = row.split(" → ");
    const start = before.indexOf("{");
    const fields = parseYaml(before.slice(start), SCHEMA);
    assert.ok(isJsonObject(fields) && result !== undefined, row);
    const given = Object.entries(fields)
      .map(([key, value]) => [key, value === "<absent>" ? undefined : value]);
    const name = before.slice(0, start).replace(/: $/, "") || row;
    return [name, Object.fromEntries(given), result];
  });
}

/** The name of the row and its two values. */
type YamlPair = readonly [name: string, from: JsonValue, to: JsonValue];

/** Reads a table. A row has a name, a colon, a value in YAML, ` → ` and another value. A line with `#` is a comment. */
export function yamlPairs(text: string): readonly YamlPair[] {
  return rowsOf(text).filter((row) => !row.startsWith("#"))
    .map((row): YamlPair => {
      const [, name, from, to] = row.match(/^(.*?): (.*) → (.*)$/) ?? [];
      assert.ok(name && from && to, row);
      return [name, jsonOf(from), jsonOf(to)];
    });
}

/** Returns the rows of a table. An indented line continues the one before. */
function rowsOf(text: string): readonly string[] {
  return text.trim().split(/\n(?! )/).map((row) => row.replace(/\n +/g, " "));
}

function jsonOf(yaml: string): JsonValue {
  return JSON.parse(JSON.stringify(parseYaml(yaml, SCHEMA)));
}

const SCHEMA = { schema: "core" } as const;
