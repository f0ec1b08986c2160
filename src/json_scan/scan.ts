/*
 * The gateway authorizes a request by the model that this scan finds, and then forwards the body byte for byte. So an
 * upstream must not find another model in the body. Therefore the whole body is checked, and a key that occurs twice is
 * rejected, because some parsers take the first value and others the last.
 */

import { oncePer } from "@gateway/base/memo";
import {
  type ByteRun,
  type ByteSpan,
  KeptBytes,
  type KeyMatch,
  matchKey,
} from "./key.ts";
import { JsonScanError } from "./scan_error.ts";
import { type JsonEvent, JsonWalker } from "./walker.ts";

/** A watched value. */
export interface FoundValue {
  /** The position of the value, without the white space around it. */
  readonly span: ByteSpan;
  /** The position of the name's first quote. */
  readonly nameStart: number;
  /** The end of the previous member; 0 for the first member. */
  readonly after: number;
  /** The value as JSON text; `undefined` when that text is longer than {@linkcode MAX_VALUE_BYTES}. */
  readonly text: string | undefined;
}

/** The longest value that is kept, in bytes. */
const MAX_VALUE_BYTES = 4096;

/** Receives the checked bytes of a value, chunk by chunk. The sink must not keep the bytes. */
export interface ValueSink {
  push(chunk: Uint8Array): void;
}

/** Receives events about the structure of the members that `wants` selects. */
export interface StructureSink {
  /**
   * Returns true for a member whose events are wanted. The name is `undefined` if it is longer than any watched key.
   */
  wants(name: ByteRun | undefined): boolean;
  /** Before this offset, only the ends of chunks are reported. */
  readonly quietUntil: number;
  /**
   * Receives an event of a wanted member. The sink must not keep the bytes.
   *
   * @param event `undefined` at the end of the chunk.
   * @param at The position of the event in `bytes`.
   */
  take(
    event: JsonEvent | undefined,
    bytes: Uint8Array,
    at: number,
    walker: Pick<JsonWalker, "skip" | "offset" | "ownNameEnd" | "marks">,
  ): void;
}

const PRINTABLE_ASCII_REGEXP = /^[ -~]*$/;

/** The length of the longest spelling of a watched key's character, such as `\u006d`. */
const MAX_SPELLING_BYTES = 6;

/**
 * Finds the values of some keys among the top-level members of a JSON object, in one pass over its chunks. It accepts
 * each object that a strict UTF-8 decoder and `JSON.parse` accept, with two exceptions. It rejects a byte order mark,
 * and a second top-level occurrence of a watched key in any spelling or case.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const scan = new JsonObjectScan(["model"]);
 * for (const chunk of ['{"n":1,"mod', 'el":"glm-5.1"}']) {
 *   scan.push(new TextEncoder().encode(chunk));
 * }
 * const model = scan.end().get("model");
 * assert.deepEqual(model?.span, { start: 15, end: 24 });
 * assert.equal(model.text, '"glm-5.1"');
 * ```
 */
export class JsonObjectScan {
  readonly #keys: WatchedKeys;
  readonly #sinkOf: (key: string) => ValueSink | undefined;
  readonly #walker = new JsonWalker();
  readonly #found = new Map<string, FoundValue>();
  readonly #name: KeptBytes;
  readonly #value = new KeptBytes(MAX_VALUE_BYTES);
  /** The watched key whose value is next or current. */
  #key: string | undefined;
  /** The start of the current name or value, in the document. */
  #start = 0;
  #nameStart = 0;
  /** The end of the last member. */
  #memberEnd = 0;
  /** Receives the current value. */
  #sink: ValueSink | undefined;
  /** The start of the bytes that the sink has not received yet, in the current chunk. */
  #unseen = 0;
  readonly #structure: StructureSink | undefined;
  /** True within a member whose events the structure sink wants. */
  #isWanted = false;

  /**
   * @param keys The names without escapes; printable ASCII.
   * @param sinkOf Returns the sink that receives the value of a key; `undefined` for a key without a sink.
   * @param structure Receives the structure of the members that its `wants` selects. Such members may occur twice.
   * @throws {TypeError} When a key is not printable ASCII.
   */
  constructor(
    keys: readonly string[],
    sinkOf: (key: string) => ValueSink | undefined = () => undefined,
    structure?: StructureSink,
  ) {
    this.#sinkOf = sinkOf;
    this.#structure = structure;
    this.#keys = watchedKeys(keys);
    this.#name = new KeptBytes(this.#keys.longestBytes);
  }

  /**
   * Scans the next chunk, and keeps only the short values in it.
   *
   * @throws {JsonScanError} When the chunks so far cannot begin a valid object. The scan has then ended.
   */
  push(bytes: Uint8Array): void {
    const walker = this.#walker;
    walker.feed(bytes);
    for (;;) {
      const event = walker.next();
      const structure = this.#structure;
      if (structure !== undefined && this.#isWanted) {
        if (event === undefined) {
          structure.take(event, bytes, bytes.length, walker);
        } else if (walker.offset >= structure.quietUntil) {
          structure.take(event, bytes, walker.at, walker);
        }
      }
      switch (event) {
        case undefined:
          this.#show(bytes, bytes.length);
          this.#unseen = 0;
          this.#name.leave(bytes);
          this.#value.leave(bytes);
          return;
        case "name_begins":
          this.#start = walker.offset;
          this.#name.begin(walker.at + 1);
          break;
        case "name_ends":
          this.#endName(this.#name.end(bytes, walker.at - 1));
          break;
        case "value_begins":
          if (this.#key === undefined) break;
          this.#nameStart = this.#start;
          this.#start = walker.offset;
          this.#value.begin(walker.at);
          this.#sink = this.#sinkOf(this.#key);
          this.#unseen = walker.at;
          break;
        case "value_ends":
          this.#show(bytes, walker.at);
          this.#sink = undefined;
          if (this.#key !== undefined) this.#keep(this.#key, bytes);
          this.#memberEnd = walker.offset;
          this.#key = undefined;
          this.#isWanted = false;
          break;
      }
    }
  }

  /**
   * Ends the scan.
   *
   * @returns The values of the watched keys that were found.
   * @throws {JsonScanError} When the chunks are not exactly one valid object.
   */
  end(): ReadonlyMap<string, FoundValue> {
    this.#walker.finish();
    return this.#found;
  }

  /** The number of objects, arrays and members so far. */
  get values(): number {
    return this.#walker.values;
  }

  /** The number of nested levels of objects and arrays so far. */
  get depth(): number {
    return this.#walker.depth;
  }

  /** True when a seal mark was found so far. */
  get hasMark(): boolean {
    return this.#walker.marks > 0;
  }

  #endName(name: ByteRun | undefined): void {
    this.#key = this.#watched(name);
    if (this.#structure !== undefined) {
      this.#isWanted = this.#structure.wants(name);
    }
  }

  #show(bytes: Uint8Array, end: number): void {
    this.#sink?.push(bytes.subarray(this.#unseen, end));
  }

  #keep(key: string, bytes: Uint8Array): void {
    const { at, offset } = this.#walker;
    this.#found.set(key, {
      span: { start: this.#start, end: offset },
      nameStart: this.#nameStart,
      after: this.#memberEnd,
      text: textOf(this.#value.end(bytes, at)),
    });
  }

  /** Returns the watched key that a name spells; `undefined` when the name spells no watched key. */
  #watched(name: ByteRun | undefined): string | undefined {
    if (name === undefined) return undefined;
    for (const key of this.#keys.after(name.bytes[name.start])) {
      const match = matchKey(name, key);
      if (match === undefined) continue;
      this.#refuseSecond(key, match);
      return key;
    }
    return undefined;
  }

  #refuseSecond(key: string, match: KeyMatch): void {
    if (match === "other_case") failOtherCase(key, this.#start);
    if (this.#found.has(key)) failDuplicate(key, this.#start);
  }
}

/** Watched keys, prepared for many documents. */
interface WatchedKeys {
  /** The length of the longest spelling of a key, in bytes. */
  readonly longestBytes: number;
  /** Returns the keys that a name with this first byte may spell. */
  after(firstByte: number | undefined): readonly string[];
}

const watchedKeys = oncePer((keys: readonly string[]): WatchedKeys => {
  for (const key of keys) requireAscii(key);
  const byFirst = new Map<number, readonly string[]>();
  for (const key of keys) {
    for (const spelling of [key.toLowerCase(), key.toUpperCase()]) {
      const first = spelling.charCodeAt(0);
      byFirst.set(first, [...new Set([...byFirst.get(first) ?? [], key])]);
    }
  }
  const longest = Math.max(0, ...keys.map((key) => key.length));
  return {
    longestBytes: longest * MAX_SPELLING_BYTES,
    after(firstByte = QUOTE) {
      const isPlain = firstByte < FIRST_BEYOND_ASCII && firstByte !== BACKSLASH;
      if (!isPlain || firstByte === QUOTE) return keys;
      return byFirst.get(firstByte) ?? [];
    },
  };
});

/** The quote after an empty name. No other name begins with a quote. */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_BEYOND_ASCII = 0x80;

const decoder = new TextDecoder();

/** Decodes a run. The text is a copy, so it outlives the chunk. */
function textOf(run: ByteRun | undefined): string | undefined {
  return run && decoder.decode(run.bytes.subarray(run.start, run.end));
}

function requireAscii(key: string): void {
  if (PRINTABLE_ASCII_REGEXP.test(key)) return;
  throw new TypeError(
    `Cannot watch the key "${key}": it is not printable ASCII.`,
  );
}

/**
 * Rejects a name that differs from a watched key only in case, because some parsers, such as Go's, take such a name for
 * the key.
 */
function failOtherCase(key: string, offset: number): never {
  const fault =
    `a key at offset ${offset} differs from "${key}" only in case. ` +
    `Send "${key}" alone.`;
  throw new JsonScanError("duplicate_key", fault, { offset, key });
}

function failDuplicate(key: string, offset: number): never {
  const fault = `"${key}" occurs in it twice, again at offset ${offset}. ` +
    "Send it once.";
  throw new JsonScanError("duplicate_key", fault, { offset, key });
}
