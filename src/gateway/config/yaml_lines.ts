import { loadYaml, YAMLException, type YamlState } from "@gateway/base/yaml";
import type { Path } from "@gateway/base/problems";

/** A duplicate key of a mapping. */
interface DuplicateKey {
  readonly key: string;
  readonly line: number;
  /** The line where the key occurs first. */
  readonly firstLine: number;
}

/** The place of an error. The first line and the first column are 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** The error of a text that is not one YAML document. The message may quote the text. */
export class YamlError extends SyntaxError {
  override readonly name = "YamlError";
  /** `undefined` when the whole text is at fault. */
  readonly place: Place | undefined;
  /** Set when a key appears twice. */
  readonly duplicate: DuplicateKey | undefined;

  constructor(message: string, place?: Place, duplicate?: DuplicateKey) {
    super(message);
    this.place = place;
    this.duplicate = duplicate;
  }
}

/** The lines of a mapping's keys, or of a list's items. The first line is 1. */
type Lines = ReadonlyMap<string | number, number>;

/** A YAML document with the lines of its values. */
export interface LinedYaml {
  readonly value: unknown;
  /** Returns the line of a value, or of its nearest parent that is in the text. */
  lineOf(path: Path): number;
}

/**
 * Parses a text as one YAML 1.2 document with the core schema.
 *
 * @throws {YamlError} When the text is not one valid document.
 */
export function parseLinedYaml(text: string): LinedYaml {
  const lines = new WeakMap<object, Lines>();
  /** The nodes that are being read, the innermost last. The first node holds the document. */
  const open = [createNode(1)];
  /** The end of the first document. */
  let end: Place | undefined;
  const enter = (state: YamlState) => {
    if (end !== undefined) throw new YamlError("more than 1 document", end);
    open.push(createNode(state.line + 1));
  };
  const leave = (state: YamlState) => {
    const node = open.pop();
    const parent = open.at(-1);
    if (node === undefined || parent === undefined) return;
    noteLines(node, state.result, lines);
    addChild(parent, node.line, state);
    if (open.length > 1) return;
    end = {
      line: state.line + 1,
      column: state.position - state.lineStart + 1,
    };
  };
  try {
    const value = loadYaml(text, { enter, leave }) ?? null;
    return { value, lineOf: (path) => lineAt(path, value, lines) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    throw new YamlError(
      reason,
      mark && { line: mark.line + 1, column: mark.column + 1 },
      reason === "duplicated mapping key" ? open.at(-1)?.duplicate : undefined,
    );
  }
}

function lineAt(
  path: Path,
  root: unknown,
  lines: WeakMap<object, Lines>,
): number {
  let line = 1;
  let node = root;
  for (const key of path) {
    if (typeof node !== "object" || node === null) break;
    line = lines.get(node)?.get(key) ?? line;
    node = Reflect.get(node, key);
  }
  return line;
}

/** A node that is being read. */
interface OpenNode {
  readonly line: number;
  /** The lines of the nodes directly in this node. */
  readonly items: number[];
  /** The lines of the keys of a mapping. */
  readonly keys: Map<string, number>;
  /** True when the last key of a mapping still awaits its value. */
  awaitsValue: boolean;
  duplicate: DuplicateKey | undefined;
}

function createNode(line: number): OpenNode {
  return {
    ...{ line, items: [], keys: new Map() },
    awaitsValue: false,
    duplicate: undefined,
  };
}

/** Returns the next character outside white space and comments; `undefined` when only these follow. */
function nextCharacter(input: string, position: number): string | undefined {
  const visible = /\S/g;
  visible.lastIndex = position;
  for (;;) {
    const [found] = visible.exec(input) ?? [];
    if (found !== "#") return found;
    const end = input.indexOf("\n", visible.lastIndex);
    if (end === -1) return undefined;
    visible.lastIndex = end;
  }
}

/** Notes that a node has been read in `parent`: a key, the value of a key, or an item. */
function addChild(parent: OpenNode, line: number, state: YamlState): void {
  parent.items.push(line);
  const hasValue = nextCharacter(state.input, state.position) === ":";
  if (hasValue || !parent.awaitsValue) {
    const { result } = state;
    // A collection as a key may be endless as text, because aliases may repeat the collection.
    const isCollection = typeof result === "object" && result !== null;
    const key = isCollection ? "?" : String(result);
    const firstLine = parent.keys.get(key);
    if (firstLine === undefined) parent.keys.set(key, line);
    else parent.duplicate = { key, line, firstLine };
  }
  parent.awaitsValue = hasValue;
}

/** Notes the lines of a collection that has been read. Skips a list with an empty item, which would shift the lines. */
function noteLines(
  { items, keys }: OpenNode,
  value: unknown,
  lines: WeakMap<object, Lines>,
): void {
  // The parser reads some nodes as the only child of themselves, and an alias without children.
  if (typeof value !== "object" || value === null || lines.has(value)) return;
  if (!Array.isArray(value)) lines.set(value, keys);
  else if (value.length === items.length) {
    lines.set(value, new Map(items.entries()));
  }
}
