import type { Config } from "./config.ts";
import {
  type Environment,
  expandVariables,
  type ListFiles,
  readFault,
  type ReadFile,
} from "./environment.ts";
import type { TokenFor } from "./token_exchange.ts";
import { createPlaces, INCLUDE, type Source } from "./places.ts";
import {
  createFindings,
  type Findings,
  formatPath,
  isMapping,
  listAt,
  type Located,
  oncePerPlace,
  type Path,
  type Problem,
  valueAt,
} from "@gateway/base/problems";
import { resolve } from "./resolve/resolve_config.ts";
import { type IncludedTree, isIncludePattern } from "./schema/config_file.ts";
import { configJsonSchema } from "./schema/json_schema.ts";
import { isNumber, NUMBER_KEY } from "./schema/problems.ts";
import { deepFreeze } from "./live_config.ts";
import { type LinedYaml, parseLinedYaml, YamlError } from "./yaml_lines.ts";

/** The inputs of a configuration other than its text. */
interface LoadContext {
  readonly env: Environment;
  readonly readFile: ReadFile;
  /** Returns the tokens of exchanges. Without this function, exchanges have no token. */
  readonly tokenFor?: TokenFor | undefined;
  readonly listFiles: ListFiles;
  /** The time now, in milliseconds since 1970. Tokens that have expired cause a warning. */
  readonly nowMs: number;
}

/** A configuration, or all of its problems. */
export type LoadResult =
  | {
    readonly config: Config;
    readonly warnings: readonly Problem[];
    /** The tree of the file with variables expanded, and with the tokens and groups of the included files. */
    readonly written: unknown;
  }
  | { readonly problems: readonly Problem[] };

const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * Parses the text of a `gateway.yaml` (docs/configuration.md), and the files that it includes, into a deeply frozen
 * configuration.
 *
 * Never rejects because of the text, but returns all problems of the text at once.
 */
export async function loadConfig(
  text: string,
  context: LoadContext,
): Promise<LoadResult> {
  const main = readMapping(text, "`connections` and `tokens`");
  if ("problem" in main) return { problems: [main.problem] };
  const sources = new Map<string, Source>();
  const findings = createFindings(createPlaces(main, sources));
  const options = { ...context, sources, findings };
  const copied = expandTree(main.tree, [], options);
  if ("problem" in copied) return { problems: [copied.problem] };
  const files = await readIncluded(copied.value, options);
  const unread = files.flatMap((one) => "problem" in one ? [one.problem] : []);
  const included = files.flatMap((one) => "problem" in one ? [] : [one]);
  const config = await resolve(copied.value, {
    included,
    readFile: context.readFile,
    tokenFor: context.tokenFor,
    nowMs: context.nowMs,
    findings: oncePerPlace(findings),
  });
  const { warnings } = findings;
  const problems = [...unread, ...findings.problems];
  if (problems.length > 0 || config === undefined) return { problems };
  const written = withIncluded(copied.value, included);
  return { config: deepFreeze(config), warnings, written };
}

function withIncluded(
  main: unknown,
  included: readonly IncludedTree[],
): unknown {
  const trees = [main, ...included.map(({ tree }) => tree)];
  const groups = trees.map((tree) => valueAt(tree, ["groups"]));
  return {
    ...isMapping(main) && main,
    groups: Object.assign({}, ...groups),
    tokens: trees.flatMap((tree) => listAt(tree, "tokens")),
  };
}

/** A file that `include` names, with its variables expanded; or the problem that prevents reading the file. */
type IncludedFile = IncludedTree | { readonly problem: Problem };

interface IncludeOptions extends LoadContext {
  /** Receives the included files. */
  readonly sources: Map<string, Source>;
  readonly findings: Findings;
}

/** The most included files, far more than an organization needs. */
const MAX_FILES = 10_000;

/** Reads the files of `include`, each once. Reports patterns without a file. */
async function readIncluded(
  tree: unknown,
  options: IncludeOptions,
): Promise<readonly IncludedFile[]> {
  const { listFiles, findings, sources } = options;
  const files: IncludedFile[] = [];
  for (const [index, pattern] of listAt(tree, INCLUDE).entries()) {
    if (typeof pattern !== "string" || !isIncludePattern(pattern)) continue;
    const place = [INCLUDE, index];
    const names = await listFiles(pattern).catch((error: unknown) => {
      findings.problem(place, `names a folder that ${readFault(error)}.`);
    });
    if (names?.length === 0) findings.warn(place, "matches no file.");
    for (const name of names ?? []) {
      if (sources.has(name)) continue;
      if (sources.size >= MAX_FILES) {
        findings.problem(place, `matches more than ${MAX_FILES} files.`);
        return files;
      }
      files.push(await readIncludedFile(name, options));
    }
  }
  return files;
}

async function readIncludedFile(
  name: string,
  options: IncludeOptions,
): Promise<IncludedFile> {
  const inFile = ({ path, message }: Problem) => ({
    problem: { path, place: path === "" ? name : `${name}: ${path}`, message },
  });
  options.sources.set(name, { tree: undefined, lineOf: () => undefined });
  let text: string;
  try {
    text = await options.readFile(name);
  } catch (error) {
    return inFile({ path: "", message: `${readFault(error)}.` });
  }
  const read = readMapping(text, "`tokens` or `groups`");
  if ("problem" in read) return inFile(read.problem);
  options.sources.set(name, read);
  const path = [INCLUDE, name];
  const copied = expandTree(read.tree, path, options);
  if ("problem" in copied) return inFile(copied.problem);
  return { path, tree: copied.value };
}

/**
 * Parses the text of a file. The text must be a mapping.
 *
 * @param needs The keys that the mapping needs, in words.
 */
function readMapping(
  text: string,
  needs: string,
): Source | { readonly problem: Problem } {
  if (text.length > MAX_CHARACTERS) {
    const message = `is longer than ${MAX_CHARACTERS} characters.`;
    return { problem: { path: "", message } };
  }
  const yaml = readYaml(text);
  if ("problem" in yaml) return yaml;
  const { value: tree, lineOf } = yaml;
  const message = rootProblem(tree, needs);
  if (message !== undefined) return { problem: { path: "", message } };
  const hasLines = text.trim().includes("\n");
  return { tree, lineOf: (path) => hasLines ? lineOf(path) : undefined };
}

function rootProblem(value: unknown, needs: string): string | undefined {
  if (value === null || value === undefined) {
    return `is empty. It needs at least ${needs}.`;
  }
  if (typeof value === "object" && !Array.isArray(value)) return undefined;
  const word = Array.isArray(value) ? "a list" : "a single value";
  return `must be a mapping with ${needs}, not ${word}.`;
}

/** Copies the tree of a file and expands the variables in its texts. */
function expandTree(
  tree: unknown,
  root: Path,
  { env, findings }: Pick<IncludeOptions, "env" | "findings">,
): TreeResult {
  return copyTree(tree, (written, inner) => {
    const path = [...root, ...inner];
    reportBareVariable(written, { path, findings });
    return expandVariables(written, {
      env,
      report: (message) => findings.problem(path, message),
    });
  });
}

/** A whole text such as `$NAME` or `$(NAME)`. */
const WHOLE_REGEXP =
  /^\$(?:[A-Za-z_][A-Za-z0-9_]*|\([A-Za-z_][A-Za-z0-9_]*\))$/;

/** Matches `$NAME` or `$(NAME)` within a longer text, but only in upper case, as most variables are written. */
const WITHIN_REGEXP =
  /(?<![\w$])\$(?:[A-Z_][A-Z0-9_]*(?![a-z])|\([A-Z_][A-Z0-9_]*\))/;

const ONLY_BRACES = "Only ${NAME} is replaced by an environment variable.";

/**
 * Reports a text that seems to name an environment variable without braces, because the name would not be expanded. In
 * a longer text or below `force`, where the name may be meant literally, the report is only a warning.
 */
function reportBareVariable(
  text: string,
  { path, findings }: Located,
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

/** The most nodes of a tree, more than any real file needs. Nested aliases can exceed this within a few lines. */
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
        `holds more than ${MAX_NODES} values. Each alias counts as a copy of its anchor.`;
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
type YamlResult = LinedYaml | { readonly problem: Problem };

const TAB_INDENT_REGEXP = /^ *\t[\t ]*(?=[^\s#])/m;

/** Matches the beginning of a parser's reason, before any quote of the text. */
const REASON_REGEXP = /^[\w,;%-]+(?: [\w,;%-]+)*(?![\w:])/;

/**
 * Parses a text as one YAML 1.2 document, which includes JSON.
 *
 * A message never quotes the text, because the text may hold an API key.
 */
export function readYaml(text: string): YamlResult {
  const tabLine = tabIndentedLine(text);
  if (tabLine !== undefined) {
    const message = "a tab indents this line. Indent with spaces only.";
    return { problem: { path: `line ${tabLine}`, message } };
  }
  try {
    return parseLinedYaml(text);
  } catch (error) {
    return { problem: yamlProblem(error) };
  }
}

/**
 * Returns the number of the first line that a tab indents. YAML forbids such a line, but the parser reads it as a line
 * of the outermost level. JSON may use tabs.
 */
function tabIndentedLine(text: string): number | undefined {
  if (/^\s*[{[]/.test(text)) return undefined;
  const match = TAB_INDENT_REGEXP.exec(text);
  if (match === null) return undefined;
  return text.slice(0, match.index).split("\n").length;
}

function yamlProblem(error: unknown): Problem {
  if (!(error instanceof YamlError)) throw error;
  const { message, place, duplicate } = error;
  if (duplicate !== undefined) return duplicateProblem(duplicate);
  if (message.startsWith("nesting")) {
    return { path: "", message: "is nested too deeply for a configuration." };
  }
  const [reason = "it cannot be read"] = REASON_REGEXP.exec(message) ?? [];
  return {
    path: place ? `line ${place.line}, column ${place.column}` : "",
    message: `is not valid YAML: ${reason}.`,
  };
}

function duplicateProblem(
  { key, line, firstLine }: NonNullable<YamlError["duplicate"]>,
): Problem {
  const name = isOptionName(key) ? `\`${key}\`` : "this key";
  return {
    path: `line ${line}`,
    message: isNumber(key)
      ? NUMBER_KEY
      : `${name} appears twice in one mapping, first in line ${firstLine}. Keep one of them.`,
  };
}

/** Returns true for a key that the JSON Schema has. Any other key may be a secret in the wrong place. */
function isOptionName(key: string): boolean {
  return JSON.stringify(configJsonSchema()).includes(`"${key}":`);
}
