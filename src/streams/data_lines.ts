import { createFinder } from "./find_bytes.ts";
import { bothEnds, createLineBuffer } from "./line_buffer.ts";

/** What a reader of data lines is told. */
export interface DataLineSink {
  /** Whether every data line is wanted now; else only those that hold `needle`. */
  wantsEvery(): boolean;
  /** The value of a `data:` line. */
  line(data: string): void;
}

/** Picks data lines out of the bytes of a server-sent event stream that goes by. */
export interface DataLines {
  /** Takes the next bytes; they are neither changed nor kept. */
  push(chunk: Uint8Array): void;
  /** The value of the data line that has begun and not ended; empty when there is none. */
  unfinished(): string;
  /**
   * The values of the last two data lines that were not empty, the last one first; of long ones the first and
   * the last 500 bytes. Empty where there were none.
   */
  lastTwo(): readonly [last: string, beforeLast: string];
}

/** How {@linkcode createDataLines} is bounded. */
export interface DataLinesOptions {
  /** A line longer than this is not given to the sink; default 1 MiB. */
  readonly maxLineBytes?: number;
}

const LINE_FEED = 10;

/** `data:` */
const DATA_PREFIX = [100, 97, 116, 97, 58];

const SPACE = 32;

const NOTHING = new Uint8Array();

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
  let last: Uint8Array = NOTHING;
  let beforeLast: Uint8Array = NOTHING;
  /** How many of these two lie in bytes that are lent, or more. */
  let lent = 0;

  function take(line: Uint8Array, lineBytes: number): void {
    if (!isData(line)) return;
    if (hasValue(line)) {
      beforeLast = last;
      last = line;
      lent++;
    }
    if (lineBytes > maxLineBytes) return;
    if (sink.wantsEvery() || holdsNeedle(line)) sink.line(valueOf(line));
  }

  /** The line's beginning may have come before. */
  function end(rest: Uint8Array): void {
    if (pending.length === 0) return take(rest, rest.length);
    pending.append(rest);
    take(pending.bytes(), pending.length);
    pending.clear();
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
      if (lent > 0) last = bothEnds(last);
      if (lent > 1) beforeLast = bothEnds(beforeLast);
      lent = 0;
      if (start < chunk.length) pending.append(chunk.subarray(start));
    },
    unfinished() {
      const line = pending.bytes();
      return isData(line) ? valueOf(line) : "";
    },
    lastTwo: () => [valueOf(last), valueOf(beforeLast)],
  };
}

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
