import { abandon } from "./discard.ts";
import { joinBytes } from "./join_bytes.ts";
import type { ByteReader } from "./look_ahead.ts";

/**
 * Reads a body whole.
 *
 * @param maxBytes A longer body is given up.
 * @param length How long it is, where that is known: then its end is not waited for.
 * @returns `undefined` when it is longer than `maxBytes`; the rest is not wanted then.
 * @throws Whatever the reader throws.
 */
export async function readAll(
  reader: ByteReader,
  maxBytes: number,
  length?: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joinBytes(chunks);
    chunks.push(value);
    bytes += value.length;
    if (bytes > maxBytes || bytes === length) break;
  }
  abandon(reader);
  return bytes > maxBytes ? undefined : joinBytes(chunks);
}
