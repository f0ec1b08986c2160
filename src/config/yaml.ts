import { parseYaml } from "../core/std.ts";
import type { Problem } from "./problems.ts";

/** What a text says as YAML, or why it is none. */
export type YamlResult = { readonly value: unknown } | {
  readonly problem: Problem;
};

const POSITION_REGEXP = / at line (\d+), column (\d+)/;
const TAB_INDENT_REGEXP = /^ *\t[\t ]*(?=[^\s#])/m;
const QUOTED_REGEXP = /\s*(?:"[^"]*"|!<[^>]*>)/g;

/**
 * Reads a text as one YAML 1.2 document; JSON is YAML too.
 *
 * A message never quotes the text, which may hold a key.
 */
export function readYaml(text: string): YamlResult {
  const tabLine = tabIndentedLine(text);
  if (tabLine !== undefined) {
    const message = "a tab indents this line; indent with spaces only";
    return { problem: { path: `line ${tabLine}`, message } };
  }
  try {
    return { value: parseYaml(text, { schema: "core" }) };
  } catch (error) {
    return { problem: yamlProblem(error) };
  }
}

/**
 * The number of the first line that a tab indents, where that matters. YAML forbids it, but the parser
 * reads such a line as one of the outermost level. JSON may be indented as one likes.
 */
function tabIndentedLine(text: string): number | undefined {
  if (/^\s*[{[]/.test(text)) return undefined;
  const match = TAB_INDENT_REGEXP.exec(text);
  if (match === null) return undefined;
  return text.slice(0, match.index).split("\n").length;
}

function yamlProblem(error: unknown): Problem {
  if (error instanceof RangeError) {
    return { path: "", message: "is nested too deeply for a configuration" };
  }
  if (!(error instanceof SyntaxError)) throw error;
  const [firstLine = ""] = error.message.split("\n");
  const position = POSITION_REGEXP.exec(firstLine);
  return {
    path: position === null ? "" : `line ${position[1]}, column ${position[2]}`,
    message: yamlMessage(firstLine.slice(0, position?.index)),
  };
}

function yamlMessage(reason: string): string {
  if (reason.includes("duplicated key")) {
    return "this key stands twice in one mapping; keep one of them";
  }
  const plain = reason.replaceAll(QUOTED_REGEXP, "");
  return `is not valid YAML: ${plain.charAt(0).toLowerCase()}${plain.slice(1)}`;
}
