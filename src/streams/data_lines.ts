import { createFinder } from "./find_bytes.ts";
import { bothEnds, createLineBuffer, END_BYTES } from "./line_buffer.ts";

/** What a reader of data lines is told. */
export interface DataLineSink {
  /** Whether every data line is wanted yet; once it is not, only those are that hold `needle`. */
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
  /**
   * Adds up, from the next line on, by how many bytes each data line is longer than this; of many lines that come in
   * one chunk the last few stand for all.
   */
  measureAbove(bytes: number): void;
  /** What was added up; no whole number where it is an estimate. */
  readonly bytesAbove: number;
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
 * A line reader that decodes only what is asked for. Once not every line is wanted, most are not even told apart: a
 * skipping search for `needle` passes over them. Lines end in LF or CRLF.
 *
 * @param needle ASCII text that a wanted line holds, such as `"usage"`.
 */
export function createDataLines(
  needle: string,
  sink: DataLineSink,
  { maxLineBytes = 1024 * 1024 }: DataLinesOptions = {},
): DataLines {
  const findNeedle = createFinder(needle);
  const decoder = new TextDecoder();
  const pending = createLineBuffer(maxLineBytes);
  /** A ring of the last lines. */
  const last: Uint8Array[] = [];
  /** The memory in which they are kept, which is used again for those that follow. */
  const room: Uint8Array<ArrayBuffer>[] = [];
  let count = 0;
  let floorBytes = Infinity;
  let bytesAbove = 0;
  /** How many of them lie in bytes that are lent, or more. */
  let lent = 0;

  function remember(line: Uint8Array): void {
    last[count++ % LAST_LINES] = line;
    lent++;
  }

  function take(line: Uint8Array, lineBytes: number): void {
    if (!isData(line)) return;
    if (hasValue(line)) {
      remember(line);
      bytesAbove += Math.max(0, lineBytes - floorBytes);
    }
    if (lineBytes > maxLineBytes) return;
    const isGiven = line.length > LONG_BYTES || sink.wantsEvery() ||
      findNeedle(line, 0) !== -1;
    if (isGiven) sink.line(valueOf(line));
  }

  /** What is to be added up for some whole lines, by the last few of them that are data. */
  function aboveIn(latest: readonly Uint8Array[], lines: Uint8Array): number {
    const [first] = latest;
    if (floorBytes === Infinity || first === undefined) return 0;
    const above = latest.reduce(
      (sum, { length }) => sum + Math.max(0, length - floorBytes),
      0,
    );
    if (latest.length < LAST_LINES) return above;
    const seenBytes = lines.byteOffset + lines.length - first.byteOffset;
    return above * lines.length / seenBytes;
  }

  /** Gives those of some whole lines that are long or hold the needle, in their order. */
  function skim(lines: Uint8Array): void {
    let needleAt = -1;
    let longAt = -1;
    for (let start = 0; start < lines.length;) {
      if (needleAt < start) needleAt = orEnd(findNeedle(lines, start), lines);
      if (longAt < start) longAt = orEnd(findLong(lines, start), lines);
      const at = Math.min(needleAt, longAt);
      if (at === lines.length) return;
      const feed = lines.indexOf(LINE_FEED, at);
      const line = lines.subarray(beginOfLine(lines, at), feed);
      if (isData(line) && line.length <= maxLineBytes) sink.line(valueOf(line));
      start = feed + 1;
    }
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
      const kept = bothEnds(last[place] ?? NOTHING, room[place]);
      last[place] = kept;
      room[place] = kept;
    }
    lent = 0;
  }

  function valueOf(line: Uint8Array): string {
    return decoder.decode(line.subarray(DATA_PREFIX.length)).trim();
  }

  return {
    measureAbove(bytes) {
      floorBytes = bytes;
    },
    get bytesAbove() {
      return bytesAbove;
    },
    push(chunk) {
      const behindLines = chunk.lastIndexOf(LINE_FEED) + 1;
      let start = 0;
      while (start < behindLines && (pending.length > 0 || sink.wantsEvery())) {
        const feed = chunk.indexOf(LINE_FEED, start);
        end(chunk.subarray(start, feed));
        start = feed + 1;
      }
      if (start < behindLines) {
        const lines = chunk.subarray(start, behindLines);
        skim(lines);
        const latest = lastDataLines(lines);
        latest.forEach(remember);
        bytesAbove += aboveIn(latest, lines);
      }
      if (lent > 0) keepLent();
      if (behindLines < chunk.length) {
        pending.append(chunk.subarray(behindLines));
      }
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
  for (let index = 0; index < DATA_PREFIX.length; index++) {
    if (line[index] !== DATA_PREFIX[index]) return false;
  }
  return true;
}

function orEnd(position: number, { length }: Uint8Array): number {
  return position === -1 ? length : position;
}

/** Where the line begins that the byte at `position` belongs to. */
function beginOfLine(lines: Uint8Array, position: number): number {
  // A negative position would count from the end.
  return position === 0 ? 0 : lines.lastIndexOf(LINE_FEED, position - 1) + 1;
}

/**
 * Where a line begins that is longer than {@linkcode LONG_BYTES}, at `from` or behind it; -1 where none does. The last
 * line feed so far behind a beginning leaps over all lines between.
 *
 * @param from Where a line begins.
 */
function findLong(lines: Uint8Array, from: number): number {
  for (let start = from; start + LONG_BYTES < lines.length;) {
    const feed = lines.lastIndexOf(LINE_FEED, start + LONG_BYTES);
    if (feed < start) return start;
    start = feed + 1;
  }
  return -1;
}

/** The last few data lines of whole lines that are not empty, in their order. */
function lastDataLines(lines: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let feed = lines.length - 1; feed >= 0;) {
    const start = beginOfLine(lines, feed);
    const line = lines.subarray(start, feed);
    if (isData(line) && hasValue(line)) found.unshift(line);
    if (found.length === LAST_LINES) break;
    feed = start - 1;
  }
  return found;
}

/** Whether more than spaces and a carriage return stand behind the prefix. */
function hasValue(line: Uint8Array): boolean {
  for (let index = DATA_PREFIX.length; index < line.length; index++) {
    if ((line[index] ?? 0) > SPACE) return true;
  }
  return false;
}
