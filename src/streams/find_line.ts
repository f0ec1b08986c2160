import { LONG_BYTES } from "./line_buffer.ts";

const LINE_FEED = 10;

/** Returns the start of the line that contains the byte at `position`; lines end in a line feed. */
export function beginOfLine(bytes: Uint8Array, position: number): number {
  // A negative position would count from the end.
  return position === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, position - 1) + 1;
}

/**
 * Returns the start of the first line that is longer than {@linkcode LONG_BYTES}, from `from` on; -1 if there is none.
 * Searching backwards for a line feed skips all short lines at once.
 *
 * @param from The start of a line.
 * @param end The end of the last line to check, after its line feed.
 */
export function findLongLine(
  bytes: Uint8Array,
  from: number,
  end: number,
): number {
  for (let start = from; start + LONG_BYTES < end;) {
    const feed = bytes.lastIndexOf(LINE_FEED, start + LONG_BYTES);
    if (feed < start) return start;
    start = feed + 1;
  }
  return -1;
}
