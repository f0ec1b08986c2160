import type { ByteSpan } from "./byte_span.ts";

/**
 * A copy of `bytes` with `replacement` in place of `span`; `bytes` itself stays as it is.
 *
 * @throws {RangeError} When `span` does not lie within `bytes`.
 */
export function spliceBytes(
  bytes: Uint8Array,
  span: ByteSpan,
  replacement: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const { start, end } = span;
  if (start < 0 || start > end || end > bytes.length) {
    throw new RangeError(
      `Cannot splice bytes ${start} to ${end} as there are ${bytes.length}`,
    );
  }
  const spliced = new Uint8Array(
    bytes.length - (end - start) + replacement.length,
  );
  spliced.set(bytes.subarray(0, start));
  spliced.set(replacement, start);
  spliced.set(bytes.subarray(end), start + replacement.length);
  return spliced;
}
