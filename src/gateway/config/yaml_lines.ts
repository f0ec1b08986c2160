import { CORE_SCHEMA, type YamlNode, YamlReader } from "@gateway/base/yaml";
import type { Path } from "@gateway/base/problems";

/** A duplicate key of a mapping. */
interface DuplicateKey {
  readonly key: string;
  readonly line: number;
  /** The line of its first occurrence. */
  readonly firstLine: number;
}

/** The error of a duplicate key. The parser's own error lacks the key, and its column is often wrong. */
export class DuplicateKeyError extends SyntaxError {
  override readonly name = "DuplicateKeyError";
  readonly duplicate: DuplicateKey;

  constructor(duplicate: DuplicateKey, cause: SyntaxError) {
    super(cause.message, { cause });
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
 * @throws {SyntaxError} When the text is not one valid document. The message names line and column.
 */
export function parseLinedYaml(text: string): LinedYaml {
  const reader = new LinedReader(completed(text), { schema: CORE_SCHEMA });
  const documents = reader.readDocuments({ singleDocument: true });
  const value = documents.next().value ?? null;
  // Reports a second document.
  documents.next();
  return { value, lineOf: (path) => lineAt(path, value, reader.lines) };
}

/** Returns the text as the parser expects it: without a byte order mark, and with a line break at its end. */
function completed(text: string): string {
  const plain = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return plain === "" || plain.endsWith("\n") ? plain : `${plain}\n`;
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

/** A collection that is being read. */
interface OpenCollection {
  /** The lines of the nodes directly in it. */
  readonly found: number[];
  /** The number of nodes in `found` that belong to complete pairs. */
  paired: number;
}

/** A YAML reader that notes the line of each key and item. */
class LinedReader extends YamlReader {
  readonly lines = new WeakMap<object, Map<string | number, number>>();
  /** The collections that are being read, the innermost last. */
  readonly #open: OpenCollection[] = [{ found: [], paired: 0 }];

  override composeNode(options: unknown): YamlNode | undefined {
    this.#open.at(-1)?.found.push(this.line + 1);
    return super.composeNode(options);
  }

  override readBlockMapping(...place: unknown[]): YamlNode | undefined {
    return this.#collect(() => super.readBlockMapping(...place)).node;
  }

  override readBlockSequence(...place: unknown[]): YamlNode | undefined {
    return this.#noteItems(() => super.readBlockSequence(...place));
  }

  override readFlowCollection(...place: unknown[]): YamlNode | undefined {
    return this.#noteItems(() => super.readFlowCollection(...place));
  }

  /** Notes the lines of a list's items. Notes none if the list has an empty item, which shifts the lines. */
  #noteItems(read: () => YamlNode | undefined): YamlNode | undefined {
    const { node, found } = this.#collect(read);
    const list = node?.result;
    if (Array.isArray(list) && list.length === found.length) {
      this.lines.set(list, new Map(found.entries()));
    }
    return node;
  }

  #collect(read: () => YamlNode | undefined) {
    const found: number[] = [];
    this.#open.push({ found, paired: 0 });
    const node = read();
    this.#open.pop();
    return { node, found };
  }

  override storeMappingPair(
    mapping: object,
    overridable: unknown,
    tag: unknown,
    key: unknown,
    value: unknown,
    startLine?: number,
    startPosition?: number,
  ): object {
    const keyLines = this.lines.get(mapping) ?? new Map();
    this.lines.set(mapping, keyLines);
    // A key that is a collection can be endless as text: aliases may repeat it.
    const name = typeof key === "object" && key !== null ? "?" : String(key);
    const firstLine = keyLines.get(name);
    const line = this.#lineOfKey(startLine);
    keyLines.set(name, line);
    try {
      return super.storeMappingPair(
        mapping,
        overridable,
        tag,
        key,
        value,
        startLine,
        startPosition,
      );
    } catch (error) {
      if (firstLine === undefined || !(error instanceof SyntaxError)) {
        throw error;
      }
      throw new DuplicateKeyError({ key: name, line, firstLine }, error);
    }
  }

  /** Returns the line of the key of the latest pair. The parser passes this line for block mappings only. */
  #lineOfKey(startLine: number | undefined): number {
    const open = this.#open.at(-1);
    const line = startLine === undefined
      ? open?.found[open.paired]
      : startLine + 1;
    if (open !== undefined) open.paired = open.found.length;
    return line ?? this.line + 1;
  }
}
