import { crc32 } from "node:zlib";

/** The fewest bytes for which the native function is faster than a loop. Each call of the function has a cost. */
const MIN_NATIVE_BYTES = 48;

/** The CRC-32 of each byte (RFC 1952, section 8). */
const SUMS_OF_BYTES = Uint32Array.from(
  { length: 256 },
  (_, byte) => {
    let sum = byte;
    for (let bit = 0; bit < 8; bit++) {
      sum = sum & 1 ? sum >>> 1 ^ 0xedb88320 : sum >>> 1;
    }
    return sum;
  },
);

/**
 * Returns the CRC-32 of earlier bytes followed by `bytes`. `before` is the CRC-32 of the earlier bytes; 0 without any.
 */
export function sumOf(
  bytes: Uint8Array,
  before: number,
  start = 0,
  end = bytes.length,
): number {
  if (end - start >= MIN_NATIVE_BYTES) {
    return crc32(bytes.subarray(start, end), before);
  }
  let sum = ~before;
  for (let index = start; index < end; index++) {
    sum = (SUMS_OF_BYTES[(sum ^ (bytes[index] ?? 0)) & 0xff] ?? 0) ^ sum >>> 8;
  }
  return ~sum >>> 0;
}
