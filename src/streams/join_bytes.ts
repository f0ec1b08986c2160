/** Chunks as one: a copy, but for a chunk that is alone. */
export function joinBytes(
  chunks: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  if (chunks.length === 1 && only?.buffer instanceof ArrayBuffer) {
    return new Uint8Array(only.buffer, only.byteOffset, only.byteLength);
  }
  const whole = new Uint8Array(
    chunks.reduce((sum, { length }) => sum + length, 0),
  );
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
