import { createByteReader } from "./byte_reader.ts";
import type { IdleWatch } from "./idle_watch.ts";

/** What bounds the reading of a whole body. */
export interface ReadAllOptions {
  /** A longer body is given up. */
  readonly maxBytes: number;
  /** Waits for each chunk; stopped at the end. */
  readonly idle: IdleWatch;
}

/**
 * Reads a body whole.
 *
 * @returns `undefined` when it is longer than `maxBytes`; the rest is not wanted then.
 * @throws Whatever the body throws.
 */
export async function readAll(
  body: ReadableStream<Uint8Array> | null,
  { maxBytes, idle }: ReadAllOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array();
  const reader = createByteReader(body);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      idle.wait();
      const { done, value } = await reader.read();
      if (done) return joined(chunks, bytes);
      chunks.push(value);
      bytes += value.length;
      if (bytes > maxBytes) break;
    }
  } finally {
    idle.stop();
  }
  reader.cancel().catch(() => {
    // Nobody waits for the rest of this body any more.
  });
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
