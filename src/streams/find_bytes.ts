/**
 * A search for one short text in many runs of bytes (Horspool's: it jumps by up to the text's length).
 *
 * @param needle ASCII, not empty.
 * @returns Whether the bytes hold it.
 */
export function createFinder(needle: string): (bytes: Uint8Array) => boolean {
  const wanted = new TextEncoder().encode(needle);
  const size = wanted.length;
  const jumps = new Uint8Array(256).fill(size);
  for (let index = 0; index < size - 1; index++) {
    jumps[wanted[index] ?? 0] = size - 1 - index;
  }
  return (bytes) => {
    let end = size - 1;
    while (end < bytes.length) {
      let offset = 0;
      while (
        offset < size && bytes[end - offset] === wanted[size - 1 - offset]
      ) offset++;
      if (offset === size) return true;
      end += jumps[bytes[end] ?? 0] ?? 1;
    }
    return false;
  };
}
