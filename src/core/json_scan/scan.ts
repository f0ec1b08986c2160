/*
 * A request is authorised by what this scan finds and then forwarded byte for byte, so an upstream must not
 * be able to read another model in it. Hence the whole body is checked, and a key that stands twice, of
 * which one parser takes the first and another the last, is refused.
 *
 * Each file of the scanner names the bytes it needs by itself: V8 folds a file's own constants into the
 * code but reads imported ones from memory at every use, which costs a third of the speed and more.
 */

import { likeness, type StringInside } from "./key.ts";
import { failSyntax, JsonScanError } from "./scan_error.ts";
import { skipString } from "./string.ts";
import {
  byteAt,
  createJsonText,
  type JsonText,
  skipColon,
  skipSpace,
} from "./text.ts";
import { isUnfinished, resumeValue, skipValue } from "./value.ts";

const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** A run of bytes: from `start` up to, not including, `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

interface Scan {
  readonly text: JsonText;
  readonly keys: readonly string[];
  readonly spans: Map<string, ByteSpan>;
  readonly turnBytes: number;
}

/** What a JSON value other than an object begins with. */
const VALUE_STARTS: readonly number[] = Array.from(
  '"-0123456789[tfn',
  (character) => character.charCodeAt(0),
);

/** So many bytes at a time: a few milliseconds even of the slowest, which are those of the smallest values. */
const TURN_BYTES = 512 * 1024;

const PRINTABLE_ASCII_REGEXP = /^[ -~]*$/;

/** How a long scan leaves others their turn. */
export interface ScanTurns {
  /** Resolves when it is the scan's turn again; what it throws ends the scan. */
  readonly pause: () => Promise<void>;
  /** How many bytes make a turn; a long string belongs to one. Default: those of a few milliseconds. */
  readonly turnBytes?: number;
}

/**
 * As {@linkcode scanJsonObject}, with pauses.
 *
 * @throws {JsonScanError} As {@linkcode scanJsonObject} does.
 */
export async function scanJsonObjectInTurns(
  bytes: Uint8Array,
  keys: readonly string[],
  { pause, turnBytes = TURN_BYTES }: ScanTurns,
): Promise<ReadonlyMap<string, ByteSpan>> {
  const turns = scan(bytes, keys, turnBytes);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
    await pause();
  }
}

/**
 * Finds the values of `keys` among the top-level members of `bytes`, in one pass that neither recurses nor
 * copies. It accepts what a strict UTF-8 decoder followed by `JSON.parse` accepts and gives an object for,
 * less two things: a byte order mark, and a second top-level occurrence of one of `keys` in any spelling, for
 * which one in another case counts too.
 *
 * @param keys Names as they are meant, not as they are escaped; printable ASCII.
 * @returns The span of each value that is there, without the white space around it.
 * @throws {JsonScanError} When `bytes` are anything else.
 * @throws {TypeError} When one of `keys` is not printable ASCII.
 */
export function scanJsonObject(
  bytes: Uint8Array,
  keys: readonly string[],
): ReadonlyMap<string, ByteSpan> {
  const turns = scan(bytes, keys, Infinity);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
  }
}

function* scan(
  bytes: Uint8Array,
  keys: readonly string[],
  turnBytes: number,
): Generator<void, ReadonlyMap<string, ByteSpan>> {
  for (const key of keys) requireAscii(key);
  const spans = new Map<string, ByteSpan>();
  const text = createJsonText(bytes);
  text.pauseAt = turnBytes;
  const first = skipSpace(bytes, findObject(bytes) + 1);
  const closing = byteAt(bytes, first) === CLOSE_BRACE
    ? first
    : yield* scanMembers({ text, keys, spans, turnBytes }, first);
  requireEnd(bytes, closing + 1);
  return spans;
}

function requireAscii(key: string): void {
  if (PRINTABLE_ASCII_REGEXP.test(key)) return;
  throw new TypeError(
    `Cannot watch the key "${key}" as it is not printable ASCII`,
  );
}

/** The offset of the opening brace. */
function findObject(bytes: Uint8Array): number {
  const offset = skipSpace(bytes, 0);
  if (byteAt(bytes, offset) === OPEN_BRACE) return offset;
  if (offset === bytes.length) {
    throw new JsonScanError("syntax", "it is empty; send one JSON object", {
      offset,
    });
  }
  if (startsWithMark(bytes)) {
    const fault = "it begins with a byte order mark; send UTF-8 without one";
    throw new JsonScanError("encoding", fault, { offset: 0 });
  }
  if (!VALUE_STARTS.includes(byteAt(bytes, offset))) failSyntax(bytes, offset);
  const fault =
    `another value begins at offset ${offset}; send one JSON object`;
  throw new JsonScanError("not_object", fault, { offset });
}

function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** From the first name to the closing brace. */
function* scanMembers(scan: Scan, start: number): Generator<void, number> {
  const { text, turnBytes } = scan;
  const { bytes } = text;
  let position = start;
  for (;;) {
    if (position >= text.pauseAt) {
      yield;
      text.pauseAt = position + turnBytes;
    }
    position = skipSpace(bytes, yield* scanMember(scan, position));
    const byte = byteAt(bytes, position);
    if (byte === CLOSE_BRACE) return position;
    if (byte !== COMMA) failSyntax(bytes, position);
    position = skipSpace(bytes, position + 1);
  }
}

function* scanMember(
  { text, keys, spans, turnBytes }: Scan,
  start: number,
): Generator<void, number> {
  const nameEnd = skipString(text, start);
  const inside = { bytes: text.bytes, start: start + 1, end: nameEnd - 1 };
  const key = findKey(inside, keys);
  if (key !== undefined && spans.has(key)) failDuplicate(key, start);
  const valueStart = skipColon(text.bytes, nameEnd);
  let valueEnd = skipValue(text, valueStart);
  while (isUnfinished(text)) {
    yield;
    text.pauseAt = valueEnd + turnBytes;
    valueEnd = resumeValue(text, valueEnd);
  }
  if (key !== undefined) spans.set(key, { start: valueStart, end: valueEnd });
  return valueEnd;
}

/** The watched key that a name means. */
function findKey(
  inside: StringInside,
  keys: readonly string[],
): string | undefined {
  for (const key of keys) {
    const like = likeness(inside, key);
    if (like === "same") return key;
    if (like === "other_case") failOtherCase(key, inside.start - 1);
  }
  return undefined;
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

function requireEnd(bytes: Uint8Array, start: number): void {
  const offset = skipSpace(bytes, start);
  if (offset === bytes.length) return;
  const fault = `more follows behind the object, at offset ${offset}; ` +
    "send the object alone";
  throw new JsonScanError("syntax", fault, { offset });
}
