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
import { skipValue } from "./value.ts";

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
}

/** What a JSON value other than an object begins with. */
const VALUE_STARTS: readonly number[] = Array.from(
  '"-0123456789[tfn',
  (character) => character.charCodeAt(0),
);

const PRINTABLE_ASCII_REGEXP = /^[ -~]*$/;

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
  for (const key of keys) requireAscii(key);
  const spans = new Map<string, ByteSpan>();
  const scan = { text: createJsonText(bytes), keys, spans };
  const first = skipSpace(bytes, findObject(bytes) + 1);
  const closing = byteAt(bytes, first) === CLOSE_BRACE
    ? first
    : scanMembers(scan, first);
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
function scanMembers(scan: Scan, start: number): number {
  const { bytes } = scan.text;
  let position = start;
  for (;;) {
    position = skipSpace(bytes, scanMember(scan, position));
    const byte = byteAt(bytes, position);
    if (byte === CLOSE_BRACE) return position;
    if (byte !== COMMA) failSyntax(bytes, position);
    position = skipSpace(bytes, position + 1);
  }
}

function scanMember({ text, keys, spans }: Scan, start: number): number {
  const nameEnd = skipString(text, start);
  const inside = { bytes: text.bytes, start: start + 1, end: nameEnd - 1 };
  const key = findKey(inside, keys);
  if (key !== undefined && spans.has(key)) failDuplicate(key, start);
  const valueStart = skipColon(text.bytes, nameEnd);
  const valueEnd = skipValue(text, valueStart);
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
