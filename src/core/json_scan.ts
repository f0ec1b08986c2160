import { BitStack } from "./bit_stack.ts";
import { failSyntax, JsonScanError } from "./json_scan_error.ts";
import { type JsonText, skipString } from "./json_string.ts";
import { skipColon, skipSpace, skipValue } from "./json_value.ts";

export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

export function scanJsonObject(
  bytes: Uint8Array,
  keys: readonly string[],
): ReadonlyMap<string, ByteSpan> {
  const text: JsonText = {
    bytes,
    words: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  };
  const spans = new Map<string, ByteSpan>();
  let position = skipSpace(bytes, 0);
  if (bytes[position] !== 0x7b) {
    throw new JsonScanError("not_object", "x", { offset: position });
  }
  position = skipSpace(bytes, position + 1);
  const open = new BitStack();
  if (bytes[position] === 0x7d) position++;
  else {for (;;) {
      const keyEnd = skipString(text, position);
      const key = findKey(
        bytes,
        { start: position + 1, end: keyEnd - 1 },
        keys,
      );
      const start = skipColon(bytes, keyEnd);
      const end = skipValue(text, start, open);
      if (key !== undefined) {
        if (spans.has(key)) {
          throw new JsonScanError("duplicate_key", "x", {
            offset: position,
            key,
          });
        }
        spans.set(key, { start, end });
      }
      position = skipSpace(bytes, end);
      const byte = bytes[position++];
      if (byte === 0x7d) break;
      if (byte !== 0x2c) failSyntax(bytes, position - 1);
      position = skipSpace(bytes, position);
    }}
  position = skipSpace(bytes, position);
  if (position < bytes.length) failSyntax(bytes, position);
  return spans;
}

function findKey(
  bytes: Uint8Array,
  raw: ByteSpan,
  keys: readonly string[],
): string | undefined {
  for (const key of keys) if (spells(bytes, raw, key)) return key;
  return undefined;
}

function spells(bytes: Uint8Array, raw: ByteSpan, key: string): boolean {
  let position = raw.start;
  for (let i = 0; i < key.length; i++) {
    if (position >= raw.end) return false;
    let unit = bytes[position] ?? 0;
    let size = 1;
    if (unit === 0x5c) {
      if (bytes[position + 1] === 0x75) {
        unit = parseInt(
          String.fromCharCode(...bytes.subarray(position + 2, position + 6)),
          16,
        );
        size = 6;
      } else {
        unit = bytes[position + 1] ?? 0;
        size = 2;
      }
    }
    if (unit !== key.charCodeAt(i)) return false;
    position += size;
  }
  return position === raw.end;
}
