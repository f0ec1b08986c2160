import { LONG_BYTES } from "./line_buffer.ts";

const LINE_FEED = 10;

/** Where the line begins that the byte at `position` belongs to; lines end in a line feed. */
export function beginOfLine(bytes: Uint8Array, position: number): number {
  // A negative position would count from the end.
  return position === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, position - 1) + 1;
}

/**
 * Where a line begins that is longer than {@linkcode LONG_BYTES}, at `from` or behind it; -1 where none does. The last
 * line feed so far behind a beginning leaps over all lines between.
 *
 * @param from Where a line begins.
 * @param end Where the last line ends that is looked at, behind its line feed.
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
