import { createFinder } from "./find_bytes.ts";
import { bothEnds, createLineBuffer, END_BYTES } from "./line_buffer.ts";

/** What a reader of data lines is told. */
export interface DataLineSink {
  /** Whether every data line is wanted now; else only those that hold `needle`. */
  wantsEvery(): boolean;
  /** The value of a `data:` line that is wanted, or longer than {@linkcode LONG_BYTES}. */
  line(data: string): void;
}

/** Picks data lines out of the bytes of a server-sent event stream that goes by. */
export interface DataLines {
  /** Takes the next bytes; they are neither changed nor kept. */
  push(chunk: Uint8Array): void;
  /** The value of the data line that has begun and not ended; empty when there is none. */
  unfinished(): string;
  /**
   * The values of the last few data lines that were not empty, at most {@linkcode LAST_LINES} and the last one
   * first; of long ones the first and the last 500 bytes.
   */
  last(): readonly string[];
}

/** How {@linkcode createDataLines} is bounded. */
export interface DataLinesOptions {
  /** A line longer than this is not given to the sink; default 1 MiB. */
  readonly maxLineBytes?: number;
}

/** How many lines {@linkcode DataLines.last} remembers. */
const LAST_LINES = 4;

/** A line that is longer than this is given to the sink in any case, since not all of it is remembered. */
export const LONG_BYTES: number = 2 * END_BYTES;

const LINE_FEED = 10;

/** `data:` */
const DATA_PREFIX = [100, 97, 116, 97, 58];

const SPACE = 32;

/**
 * A line reader that decodes only what is asked for: most lines cost one native search for the line's end
 * and one skipping search for `needle`. Lines end in LF or CRLF.
 *
 * @param needle ASCII text that a wanted line holds, such as `"usage"`.
 */
export function createDataLines(
  needle: string,
  sink: DataLineSink,
  { maxLineBytes = 1024 * 1024 }: DataLinesOptions = {},
): DataLines {
  const holdsNeedle = createFinder(needle);
  const decoder = new TextDecoder();
  const pending = createLineBuffer(maxLineBytes);
  /** A ring of the last lines. */
  const last: Uint8Array[] = [];
  let count = 0;
  /** How many of them lie in bytes that are lent, or more. */
  let lent = 0;

  function take(line: Uint8Array, lineBytes: number): void {
    if (!isData(line)) return;
    if (hasValue(line)) {
      last[count++ % LAST_LINES] = line;
      lent++;
    }
    if (lineBytes > maxLineBytes) return;
    const isGiven = line.length > LONG_BYTES || sink.wantsEvery() ||
      holdsNeedle(line);
    if (isGiven) sink.line(valueOf(line));
  }

  /** The line's beginning may have come before. */
  function end(rest: Uint8Array): void {
    if (pending.length === 0) return take(rest, rest.length);
    pending.append(rest);
    take(pending.bytes(), pending.length);
    pending.clear();
  }

  /** The last line is number 0. */
  function placeOf(number: number): number {
    return (count - 1 - number) % LAST_LINES;
  }

  function keepLent(): void {
    for (let number = Math.min(lent, LAST_LINES) - 1; number >= 0; number--) {
      const place = placeOf(number);
      last[place] = bothEnds(last[place] ?? NOTHING);
    }
    lent = 0;
  }

  function valueOf(line: Uint8Array): string {
    return decoder.decode(line.subarray(DATA_PREFIX.length)).trim();
  }

  return {
    push(chunk) {
      let start = 0;
      let feed = chunk.indexOf(LINE_FEED);
      while (feed !== -1) {
        end(chunk.subarray(start, feed));
        start = feed + 1;
        feed = chunk.indexOf(LINE_FEED, start);
      }
      if (lent > 0) keepLent();
      if (start < chunk.length) pending.append(chunk.subarray(start));
    },
    unfinished() {
      const line = pending.bytes();
      return isData(line) ? valueOf(line) : "";
    },
    last: () =>
      last.map((_, number) => valueOf(last[placeOf(number)] ?? NOTHING)),
  };
}

const NOTHING = new Uint8Array();

function isData(line: Uint8Array): boolean {
  return DATA_PREFIX.every((byte, index) => line[index] === byte);
}

/** Whether more than spaces and a carriage return stand behind the prefix. */
function hasValue(line: Uint8Array): boolean {
  for (let index = DATA_PREFIX.length; index < line.length; index++) {
    if ((line[index] ?? 0) > SPACE) return true;
  }
  return false;
}
