/**
 * Types for `js-yaml` 4. The package itself ships no types. Version 5 rejects a list in brackets whose end is not
 * indented.
 */
import {
  CORE_SCHEMA,
  DEFAULT_SCHEMA,
  dump,
  load,
  Type,
  YAMLException as JsYamlException,
} from "js-yaml";

const UNDERSCORED_REGEXP = /^[-+]?[1-9]\d*(?:_\d+)+(?:\.\d+)?$/;

/** Numbers such as `5_000_000`. YAML 1.2 reads such a number as text. */
const UNDERSCORED = {
  implicit: [
    new Type("!number", {
      kind: "scalar",
      resolve: (text: string | null) => UNDERSCORED_REGEXP.test(text ?? ""),
      construct: (text: string) => Number(text.replaceAll("_", "")),
    }),
  ],
};

const READ_SCHEMA = CORE_SCHEMA.extend(UNDERSCORED);
const WRITE_SCHEMA = DEFAULT_SCHEMA.extend(UNDERSCORED);

/** The position of the parser in a text. */
export interface YamlState {
  /** The text, and a character that ends it. */
  readonly input: string;
  /** In UTF-16 code units, from 0. */
  readonly position: number;
  /** From 0. */
  readonly line: number;
  /** The position at which the line begins. */
  readonly lineStart: number;
  /** The value of the node that was read last. */
  readonly result: unknown;
}

/** The error of a text that is not YAML. */
export const YAMLException: new () => Error & {
  /** May quote the text. */
  readonly reason: string;
  /** Both from 0; absent when the whole text is at fault. */
  readonly mark?: { readonly line: number; readonly column: number };
} = JsYamlException;

/**
 * Parses a text as one YAML document with the core schema of YAML 1.2, and numbers with underscores.
 *
 * @param watch Called before and after each node, keys included.
 * @returns `undefined` for a text without a document.
 * @throws {YAMLException} When the text is not YAML.
 */
export function loadYaml(
  text: string,
  { enter, leave }: {
    enter(state: YamlState): void;
    leave(state: YamlState): void;
  },
): unknown {
  return load(text, {
    schema: READ_SCHEMA,
    listener: (event: "open" | "close", state: YamlState) =>
      event === "open" ? enter(state) : leave(state),
  });
}

/** Writes a value as YAML, with quotes around texts that a parser may read as another type. */
export function stringifyYaml(value: unknown): string {
  return dump(value, { schema: WRITE_SCHEMA });
}
