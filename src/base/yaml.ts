/** YAML, read and written by `deno-std`. Threads get their configuration as values, so they do not load this. */
import { LoaderState } from "@std/yaml/_loader_state";
import { SCHEMA_MAP } from "@std/yaml/_schema";
import { stringify } from "@std/yaml/stringify";

/** A node that a {@linkcode YamlReader} has read. */
export interface YamlNode {
  readonly result: unknown;
}

/** The part of the parser that {@linkcode YamlReader} describes: its hooks, which a subclass may override. */
interface YamlReaderBase {
  /** The current line. The first is 0. */
  readonly line: number;
  composeNode(options: unknown): YamlNode | undefined;
  readBlockMapping(...place: unknown[]): YamlNode | undefined;
  readBlockSequence(...place: unknown[]): YamlNode | undefined;
  readFlowCollection(...place: unknown[]): YamlNode | undefined;
  storeMappingPair(
    mapping: object,
    overridable: unknown,
    tag: unknown,
    key: unknown,
    value: unknown,
    startLine?: number,
    startPosition?: number,
  ): object;
  readDocuments(
    options: { readonly singleDocument: boolean },
  ): Iterator<unknown>;
}

/**
 * The internal parser of the library, because its public interface gives no line numbers. It may change with each
 * version, so the version is pinned, and `yaml_lines_test.ts` checks it.
 */
export const YamlReader: new (
  text: string,
  options: { readonly schema: unknown },
) => YamlReaderBase = LoaderState;

/** The core schema of YAML 1.2, for {@linkcode YamlReader}. */
export const CORE_SCHEMA: unknown = SCHEMA_MAP.get("core");

/** Writes a value as YAML. */
export const stringifyYaml: (value: unknown) => string = stringify;
