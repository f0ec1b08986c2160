import { abandon } from "./discard.ts";
import type { ByteReader } from "./look_ahead.ts";

/**
 * Reads a body whole.
 *
 * @param maxBytes A longer body is given up.
 * @returns `undefined` when it is longer than `maxBytes`; the rest is not wanted then.
 * @throws Whatever the reader throws.
 */
export async function readAll(
  reader: ByteReader,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(chunks, bytes);
    chunks.push(value);
    bytes += value.length;
    if (bytes > maxBytes) break;
  }
  abandon(reader);
  return undefined;
}

/** `bytes` is how many they are together. */
export function joined(
  chunks: readonly Uint8Array[],
  bytes: number,
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
