/** Splits bytes into chunks of `size`, the last one shorter, as a file or socket delivers them. */
export async function* inPieces(
  bytes: Uint8Array | string,
  size: number,
): AsyncGenerator<Uint8Array> {
  const all = typeof bytes === "string"
    ? new TextEncoder().encode(bytes)
    : bytes;
  for (let start = 0; start < all.length; start += size) {
    await Promise.resolve();
    yield all.slice(start, start + size);
  }
}
