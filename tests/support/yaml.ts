import { parse } from "@std/yaml/parse";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";

/** The schema for plain scalars. `core` is that of YAML 1.2: a date stays text and `<<` is an ordinary key. */
interface ParseYamlOptions {
  readonly schema?: "core" | "default";
}

/** Parses one YAML document. Throws a `SyntaxError` that names line and column. */
export const parseYaml: (text: string, options?: ParseYamlOptions) => unknown =
  parse;

/** Returns the mapping that a YAML text holds, with the scalars of JSON. */
export function yamlObject(text: string): JsonObject {
  const value = parse(text, { schema: "core" });
  if (!isJsonObject(value)) throw new Error("The text holds no mapping");
  return value;
}
