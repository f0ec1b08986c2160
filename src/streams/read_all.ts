import { abandon } from "./discard.ts";
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
    if (done) return joined(chunks, bytes);
    chunks.push(value);
    bytes += value.length;
    if (bytes > maxBytes || bytes === length) break;
  }
  abandon(reader);
  return bytes > maxBytes ? undefined : joined(chunks, bytes);
}

/** Chunks as one, which is the chunk itself where there is one alone; `bytes` is how many they are together. */
export function joined(
  chunks: readonly Uint8Array[],
  bytes: number,
): Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  if (chunks.length === 1 && only?.buffer instanceof ArrayBuffer) {
    return new Uint8Array(only.buffer, only.byteOffset, only.byteLength);
  }
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
