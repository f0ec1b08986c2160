/**
 * Types for `deno-std`, the npm edition of `@std`, which ships none. A host that reaches JSR may map `@std/…` to
 * `jsr:@std/…` in `deno.json` instead; the signatures are the same.
 */
import { mapValues as stdMapValues } from "@std/collections/map-values";
import { LimitedBytesTransformStream as StdLimitedBytes } from "@std/streams/limited-bytes-transform-stream";
import { toText as stdToText } from "@std/streams/to-text";
import { generate as stdUuidV5 } from "@std/uuid/v5";
import { LoaderState } from "@std/yaml/_loader_state";
import { SCHEMA_MAP } from "@std/yaml/_schema";
import { stringify as stdStringifyYaml } from "@std/yaml/stringify";

/** Returns a record with the same keys, each value mapped by `make`. */
export const mapValues: <Value, Name extends string, Result>(
  record: Readonly<Record<Name, Value>>,
  make: (value: Value, name: Name) => Result,
) => Record<Name, Result> = stdMapValues;

/** Passes bytes on, up to `size`. With `error`, more bytes break the stream with a `RangeError`; else they end it. */
export const LimitedBytesTransformStream: new (
  size: number,
  options?: { readonly error?: boolean },
) => TransformStream<Uint8Array, Uint8Array> = StdLimitedBytes;

/** Reads a stream of UTF-8 as text. The stream must have a bound. */
export const toText: (stream: ReadableStream<Uint8Array>) => Promise<string> =
  stdToText;

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
export const stringifyYaml: (value: unknown) => string = stdStringifyYaml;

/** Returns the UUIDv5 of `data` in `namespace`. */
export const uuidV5: (namespace: string, data: Uint8Array) => Promise<string> =
  stdUuidV5;
