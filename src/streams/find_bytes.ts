/** Where a text begins in bytes, at `from` or behind it; -1 where it does not. */
export type Finder = (bytes: Uint8Array, from: number) => number;

/**
 * A search for one short text in many runs of bytes (Horspool's: it jumps by up to the text's length).
 *
 * @param needle ASCII, not empty.
 */
export function createFinder(needle: string): Finder {
  const wanted = new TextEncoder().encode(needle);
  const last = wanted.length - 1;
  const jumps = new Uint8Array(256).fill(wanted.length);
  for (let index = 0; index < last; index++) {
    jumps[wanted[index] ?? 0] = last - index;
  }
  const lastByte = wanted[last] ?? 0;
  const jumpBehindLast = jumps[lastByte] ?? 1;
  // Most steps are a look-up and a jump; this one ends them.
  jumps[lastByte] = 0;

  function standsBefore(bytes: Uint8Array, end: number): boolean {
    const start = end - last;
    for (let index = 0; index < last; index++) {
      if (bytes[start + index] !== wanted[index]) return false;
    }
    return true;
  }

  return (bytes, from) => {
    let end = from + last;
    while (end < bytes.length) {
      const jump = jumps[bytes[end] ?? 0] ?? 1;
      if (jump !== 0) {
        end += jump;
      } else {
        if (standsBefore(bytes, end)) return end - last;
        end += jumpBehindLast;
      }
    }
    return -1;
  };
}
