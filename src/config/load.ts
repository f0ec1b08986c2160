import { parseYaml } from "../core/std.ts";
import type { Config } from "./config.ts";
import {
  type Environment,
  expandVariables,
  type ReadFile,
} from "./environment.ts";
import { deepFreeze } from "./store.ts";
import {
  createFindings,
  type Findings,
  formatPath,
  oncePerPlace,
  type Path,
  type Problem,
} from "./problems.ts";
import { resolve } from "./resolve/resolve_config.ts";
import { configJsonSchema } from "./schema/json_schema.ts";

/** The inputs of a configuration other than its text. */
export interface LoadContext {
  readonly env: Environment;
  readonly readFile: ReadFile;
  /** Milliseconds since 1970, to warn of tokens that have expired. */
  readonly nowMs: number;
}

/** A configuration, or all of its problems. */
export type LoadResult =
  | { readonly config: Config; readonly warnings: readonly Problem[] }
  | { readonly problems: readonly Problem[] };

const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * Parses the text of a `gateway.yaml` (docs/configuration.md) into a deeply frozen configuration.
 *
 * Never rejects because of the text. It returns all problems at once.
 */
export async function loadConfig(
  text: string,
  context: LoadContext,
): Promise<LoadResult> {
  if (text.length > MAX_CHARACTERS) {
    const message = `is longer than ${MAX_CHARACTERS} characters.`;
    return { problems: [{ path: "", message }] };
  }
  const yaml = readYaml(text);
  if ("problem" in yaml) return { problems: [yaml.problem] };
  const rootMessage = rootProblem(yaml.value);
  if (rootMessage !== undefined) {
    return { problems: [{ path: "", message: rootMessage }] };
  }
  const findings = createFindings();
  const copied = copyTree(
    yaml.value,
    (written, path) => {
      reportBareVariable(written, { path, findings });
      return expandVariables(written, {
        env: context.env,
        report: (message) => findings.problem(path, message),
      });
    },
  );
  if ("problem" in copied) return { problems: [copied.problem] };
  const config = await resolve(copied.value, {
    readFile: context.readFile,
    nowMs: context.nowMs,
    findings: oncePerPlace(findings),
  });
  const { problems, warnings } = findings;
  if (problems.length > 0 || config === undefined) return { problems };
  return { config: deepFreeze(config), warnings };
}

function rootProblem(value: unknown): string | undefined {
  if (value === null || value === undefined) {
    return "is empty. It needs at least `connections` and `tokens`.";
  }
  if (typeof value === "object" && !Array.isArray(value)) return undefined;
  const word = Array.isArray(value) ? "a list" : "a single value";
  return `must be a mapping with \`connections\` and \`tokens\`, not ${word}.`;
}

/** A whole text such as `$NAME` or `$(NAME)`. */
const WHOLE_REGEXP =
  /^\$(?:[A-Za-z_][A-Za-z0-9_]*|\([A-Za-z_][A-Za-z0-9_]*\))$/;

/** The same within a longer text, and only in upper case, as most variables are. */
const WITHIN_REGEXP =
  /(?<![\w$])\$(?:[A-Z_][A-Z0-9_]*(?![a-z])|\([A-Z_][A-Z0-9_]*\))/;

const ONLY_BRACES = "Only ${NAME} is replaced by an environment variable.";

/**
 * Reports a text that seems to name an environment variable without braces, which would reach a provider unexpanded. It
 * is a warning within longer texts, and below `force`, where any text is valid.
 */
function reportBareVariable(
  text: string,
  { path, findings }: { readonly path: Path; readonly findings: Findings },
): void {
  if (WHOLE_REGEXP.test(text)) {
    const message = `is the name of a variable without braces. ${ONLY_BRACES}`;
    if (path[2] === "force") findings.warn(path, message);
    else findings.problem(path, message);
  } else if (WITHIN_REGEXP.test(text)) {
    const message =
      `holds the name of a variable without braces. ${ONLY_BRACES}`;
    findings.warn(path, message);
  }
}

/** A copied tree, or the problem that prevents the copy. */
type TreeResult = { readonly value: unknown } | {
  readonly problem: Problem;
};

/** More than any real file needs. Nested aliases can exceed it within a few lines. */
const MAX_NODES = 1_000_000;
const MAX_DEPTH = 32;

/**
 * Copies the parsed YAML and passes every text through `mapText`.
 *
 * An alias may repeat a node many times, even inside itself. The limit on nodes keeps a few lines of aliases from
 * filling the memory.
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
      throw new TreeError(path, "is nested too deeply for a configuration.");
    }
    const entries = Object.entries(node);
    nodes += entries.length;
    if (nodes > MAX_NODES) {
      const message =
        `holds more than ${MAX_NODES} values. Aliases may repeat them.`;
      throw new TreeError([], message);
    }
    if (Array.isArray(node)) {
      return node.map((item, index) => copy(item, [...path, index]));
    }
    if (Object.hasOwn(node, "__proto__")) {
      throw new TreeError([...path, "__proto__"], "is not a known key.");
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

/** A parsed YAML value, or the problem of the text. */
type YamlResult = { readonly value: unknown } | {
  readonly problem: Problem;
};

const POSITION_REGEXP = / at line (\d+), column (-?\d+)/;
const TAB_INDENT_REGEXP = /^ *\t[\t ]*(?=[^\s#])/m;
const QUOTED_REGEXP = /\s*(?:"[^"]*"|!<[^>]*>)/g;

/**
 * Parses a text as one YAML 1.2 document, which includes JSON.
 *
 * A message never quotes the text, which may hold a key.
 */
export function readYaml(text: string): YamlResult {
  const tabLine = tabIndentedLine(text);
  if (tabLine !== undefined) {
    const message = "a tab indents this line. Indent with spaces only.";
    return { problem: { path: `line ${tabLine}`, message } };
  }
  try {
    return { value: parseYaml(text, { schema: "core" }) };
  } catch (error) {
    return { problem: yamlProblem(error, text) };
  }
}

/**
 * Returns the number of the first line that a tab indents. YAML forbids such a line, but the parser reads it as one of
 * the outermost level. JSON may use tabs.
 */
function tabIndentedLine(text: string): number | undefined {
  if (/^\s*[{[]/.test(text)) return undefined;
  const match = TAB_INDENT_REGEXP.exec(text);
  if (match === null) return undefined;
  return text.slice(0, match.index).split("\n").length;
}

function yamlProblem(error: unknown, text: string): Problem {
  if (error instanceof RangeError) {
    return { path: "", message: "is nested too deeply for a configuration." };
  }
  if (!(error instanceof SyntaxError)) throw error;
  const [firstLine = ""] = error.message.split("\n");
  const position = POSITION_REGEXP.exec(firstLine);
  const [, line = "", column = ""] = position ?? [];
  const reason = firstLine.slice(0, position?.index);
  if (reason.includes("duplicated key")) {
    const at = { line: Number(line), column: Number(column) };
    return { path: `line ${line}`, message: repeatedKeyMessage(text, at) };
  }
  const plain = reason.replaceAll(QUOTED_REGEXP, "");
  return {
    path: position === null ? "" : `line ${line}, column ${column}`,
    message: `is not valid YAML: ${plain.charAt(0).toLowerCase()}${
      plain.slice(1)
    }.`,
  };
}

/** A key that begins a line, after its indentation and the dashes of a list. */
const FIRST_KEY_REGEXP = /^([ -]*)(["']?)(\w+)\2\s*:/;

/** The last key of a line, without braces after it. */
const LAST_KEY_REGEXP = /(\w+)["']?\s*:[^{}:]*$/;

/**
 * Returns the message for a key that appears twice.
 *
 * @param at The position of the parser. For a mapping without braces it is the line of the second key, and its column
 * or less; for one in braces it is the end of the second value.
 */
function repeatedKeyMessage(
  text: string,
  { line, column }: { readonly line: number; readonly column: number },
): string {
  const lines = text.split(/\r\n|\n|\r/);
  const second = lines[line - 1] ?? "";
  const own = FIRST_KEY_REGEXP.exec(second);
  const isBlock = own !== null && column <= (own[1] ?? "").length + 1;
  const key = isBlock
    ? own[3]
    : LAST_KEY_REGEXP.exec(second.slice(0, Math.max(0, column - 1)).slice(-100))
      ?.[1];
  // In this column, the nearest line with the key is of the same mapping: a mapping ends where the indentation shrinks.
  const first = isBlock
    ? lines.slice(0, line - 1).findLastIndex((one) => {
      const other = FIRST_KEY_REGEXP.exec(one);
      return other?.[1]?.length === own[1]?.length && other?.[3] === key;
    })
    : -1;
  const name = key !== undefined && isOptionName(key)
    ? `\`${key}\``
    : "this key";
  const place = first < 0 ? "" : `, first in line ${first + 1}`;
  return `${name} appears twice in one mapping${place}. Keep one of them.`;
}

/** Returns true for a word of the JSON Schema. Any other key may be a secret in the wrong place. */
function isOptionName(key: string): boolean {
  return JSON.stringify(configJsonSchema()).includes(`"${key}":`);
}
