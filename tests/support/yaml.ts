import { parse } from "@std/yaml/parse";

/** The schema for plain scalars. `core` is that of YAML 1.2: a date stays text and `<<` is an ordinary key. */
interface ParseYamlOptions {
  readonly schema?: "core" | "default";
}

/** Parses one YAML document. Throws a `SyntaxError` that names line and column. */
export const parseYaml: (text: string, options?: ParseYamlOptions) => unknown =
  parse;
