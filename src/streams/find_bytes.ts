/** Where a text begins in bytes, at `from` or behind it; -1 where it does not. */
export type Finder = (bytes: Uint8Array, from: number) => number;

/**
 * A search for one short text in many runs of bytes (Horspool's: it jumps by up to the text's length).
 *
 * @param needle ASCII, not empty.
 */
export function createFinder(needle: string): Finder {
  const wanted = new TextEncoder().encode(needle);
  const size = wanted.length;
  const jumps = new Uint8Array(256).fill(size);
  for (let index = 0; index < size - 1; index++) {
    jumps[wanted[index] ?? 0] = size - 1 - index;
  }
  return (bytes, from) => {
    let end = from + size - 1;
    while (end < bytes.length) {
      let offset = 0;
      while (
        offset < size && bytes[end - offset] === wanted[size - 1 - offset]
      ) offset++;
      if (offset === size) return end - size + 1;
      end += jumps[bytes[end] ?? 0] ?? 1;
    }
    return -1;
  };
}
