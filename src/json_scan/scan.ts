/*
 * A request is authorised by what this scan finds and then forwarded byte for byte, so an upstream must not
 * be able to read another model in it. Hence the whole body is checked, and a key that stands twice, of
 * which one parser takes the first and another the last, is refused.
 */

import { oncePer } from "../core/memo.ts";
import {
  type ByteRun,
  type ByteSpan,
  KeptBytes,
  type Likeness,
  likeness,
} from "./key.ts";
import { JsonScanError } from "./scan_error.ts";
import { JsonWalker } from "./walker.ts";

/** A watched value. */
export interface FoundValue {
  /** Without the white space around it. */
  readonly span: ByteSpan;
  /** The value itself, in JSON; `undefined` when it has more than {@linkcode MAX_VALUE_BYTES}. */
  readonly text: string | undefined;
}

/** Of a longer value nothing is kept. */
export const MAX_VALUE_BYTES = 4096;

/** Sees the bytes of a value, piece by piece, when they have been checked; must not keep them. */
export interface ValueSink {
  push(piece: Uint8Array): void;
}

const PRINTABLE_ASCII_REGEXP = /^[ -~]*$/;

/** The longest spelling of a character of a watched key: `\u006d`. */
const MAX_SPELLING_BYTES = 6;

/**
 * Finds the values of some keys among the top-level members of a JSON object that comes in pieces, in one pass. It
 * accepts what a strict UTF-8 decoder followed by `JSON.parse` accepts and gives an object for, less two things: a
 * byte order mark, and a second top-level occurrence of one of the keys in any spelling, for which one in another
 * case counts too.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const scan = new JsonObjectScan(["model"]);
 * for (const piece of ['{"n":1,"mod', 'el":"glm-5.1"}']) {
 *   scan.push(new TextEncoder().encode(piece));
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
  /** The watched key whose value comes next or is under way. */
  #key: string | undefined;
  /** Where the current name or value began, in the document. */
  #start = 0;
  /** Sees the value that is under way. */
  #sink: ValueSink | undefined;
  /** Where what it has not seen yet begins, in the current piece. */
  #unseen = 0;

  /**
   * @param keys Names as they are meant, not as they are escaped; printable ASCII.
   * @param sinkOf Who sees the value of one of them, if anybody does.
   * @throws {TypeError} When one of them is not.
   */
  constructor(
    keys: readonly string[],
    sinkOf: (key: string) => ValueSink | undefined = () => undefined,
  ) {
    this.#sinkOf = sinkOf;
    this.#keys = watchedKeys(keys);
    this.#name = new KeptBytes(this.#keys.longestBytes);
  }

  /**
   * Looks through the next piece, of which nothing is kept but short values.
   *
   * @throws {JsonScanError} When the pieces so far begin no such object; ask for nothing more then.
   */
  push(bytes: Uint8Array): void {
    const walker = this.#walker;
    walker.feed(bytes);
    for (;;) {
      const event = walker.next();
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
          this.#key = this.#watched(this.#name.end(bytes, walker.at - 1));
          break;
        case "value_begins":
          if (this.#key === undefined) break;
          this.#start = walker.offset;
          this.#value.begin(walker.at);
          this.#sink = this.#sinkOf(this.#key);
          this.#unseen = walker.at;
          break;
        case "value_ends":
          this.#show(bytes, walker.at);
          this.#sink = undefined;
          if (this.#key !== undefined) this.#keep(this.#key, bytes);
          this.#key = undefined;
          break;
        case "object_ends":
          break;
      }
    }
  }

  /**
   * Says that there are no more pieces.
   *
   * @returns Each value that is there.
   * @throws {JsonScanError} When the pieces are not exactly one such object.
   */
  end(): ReadonlyMap<string, FoundValue> {
    this.#walker.finish();
    return this.#found;
  }

  /** How many objects, arrays and members there have been so far. */
  get values(): number {
    return this.#walker.values;
  }

  /** How many levels of objects and arrays there have been so far. */
  get depth(): number {
    return this.#walker.depth;
  }

  #show(bytes: Uint8Array, end: number): void {
    this.#sink?.push(bytes.subarray(this.#unseen, end));
  }

  #keep(key: string, bytes: Uint8Array): void {
    const { at, offset } = this.#walker;
    this.#found.set(key, {
      span: { start: this.#start, end: offset },
      text: textOf(this.#value.end(bytes, at)),
    });
  }

  /** The watched key that a name means. */
  #watched(name: ByteRun | undefined): string | undefined {
    if (name === undefined) return undefined;
    for (const key of this.#keys.after(name.bytes[name.start])) {
      const like = likeness(name, key);
      if (like === undefined) continue;
      this.#refuseSecond(key, like);
      return key;
    }
    return undefined;
  }

  #refuseSecond(key: string, like: Likeness): void {
    if (like === "other_case") failOtherCase(key, this.#start);
    if (this.#found.has(key)) failDuplicate(key, this.#start);
  }
}

/** Keys that are watched, made ready for many documents. */
interface WatchedKeys {
  /** The longest spelling of any of them, in bytes. */
  readonly longestBytes: number;
  /** Those that a name may mean which begins with a byte. */
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

/** Stands behind an empty name, and before none. */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_BEYOND_ASCII = 0x80;

const decoder = new TextDecoder();

/** Outlives the piece. */
function textOf(run: ByteRun | undefined): string | undefined {
  return run && decoder.decode(run.bytes.subarray(run.start, run.end));
}

function requireAscii(key: string): void {
  if (PRINTABLE_ASCII_REGEXP.test(key)) return;
  throw new TypeError(
    `Cannot watch the key "${key}" as it is not printable ASCII`,
  );
}

/** Some parsers, such as that of Go, take such a name for the key itself. */
function failOtherCase(key: string, offset: number): never {
  const fault =
    `a key at offset ${offset} differs from "${key}" in nothing but case; ` +
    `send "${key}" alone`;
  throw new JsonScanError("duplicate_key", fault, { offset, key });
}

function failDuplicate(key: string, offset: number): never {
  const fault = `"${key}" stands in it twice, again at offset ${offset}; ` +
    "send it once";
  throw new JsonScanError("duplicate_key", fault, { offset, key });
}
