import { memoized } from "../memo.ts";
import { createFinder, type Finder } from "./byte_mask.ts";
import { bytesOf, byteText, utf8InByteText } from "./bytes.ts";
import { END_BYTES, LineBuffer, LONG_BYTES } from "./line_buffer.ts";

/** The receiver of data lines. */
interface DataLineSink {
  /**
   * Returns true while each data line is wanted. After that, only lines with the `needle` are wanted. If there is no
   * needle, no line is wanted after that.
   */
  wantsEvery(): boolean;
  /**
   * Receives the value of each wanted `data:` line. Also receives each line longer than {@linkcode LONG_BYTES}, because
   * `last` keeps only the two ends of a long line.
   */
  line(data: string): void;
}

interface DataLinesOptions {
  /** The longest line that the sink receives, in bytes; default 1 MiB. */
  readonly maxLineBytes?: number;
}

/** The number of lines that {@linkcode DataLines.last} returns. */
const LAST_LINES = 4;

const DATA_PREFIX = "data:";

const SPACE = 32;

const FEED = 10;

const RETURN = 13;

/** A byte order mark in a text of `byteText`. */
const MARK = "\xef\xbb\xbf";

/** Matches a carriage return without a line feed after it in the same chunk. */
const LONE_RETURN_REGEXP = /\r(?!\n)/g;

const decoder = new TextDecoder();

/** The search for each needle. A protocol has one needle. */
const finderOf = memoized(createFinder, 100);

/**
 * Finds the data lines in the bytes of an event stream, and decodes only wanted lines. After `wantsEvery` returns
 * false, `push` searches for `needle` without splitting the bytes into lines. Lines end in LF, CRLF or CR, and a byte
 * order mark at the start is skipped
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
 */
export class DataLines {
  readonly #find: Finder | undefined;
  readonly #sink: DataLineSink;
  readonly #maxLineBytes: number;
  readonly #pending: LineBuffer;
  /** `#bytesAbove` sums the bytes of each line beyond this length. */
  #floorBytes = Infinity;
  #bytesAbove = 0;
  #isFirstLine = true;
  /** The last lines as texts of `byteText`, the last one first. */
  #last: readonly string[] = [];

  /**
   * @param needle ASCII text in a wanted line, such as `usage"`. Without a needle, nothing is read after `wantsEvery`
   * returns false.
   */
  constructor(
    needle: string | undefined,
    sink: DataLineSink,
    { maxLineBytes = 1024 * 1024 }: DataLinesOptions = {},
  ) {
    this.#find = needle === undefined ? undefined : finderOf(needle);
    this.#sink = sink;
    this.#maxLineBytes = maxLineBytes;
    this.#pending = new LineBuffer(maxLineBytes);
  }

  /** Reads the next bytes without changing or keeping them. `text` is the `byteText` of these bytes, if known. */
  push(chunk: Uint8Array, text = byteText(chunk)): void {
    if (!text.includes("\r")) return this.#pushLines(chunk, text);
    // A CRLF that is split between chunks gives an extra empty line, which has no effect.
    const fed = text.replace(LONE_RETURN_REGEXP, "\n");
    this.#pushLines(fed === text ? chunk : bytesOf(fed), fed);
  }

  /** Returns the value of an unfinished data line; empty when there is none. */
  unfinished(): string {
    const line = this.#unmarked(this.#pending.bytes);
    return isData(byteText(line), 0) ? valueOf(line) : "";
  }

  /**
   * Returns the values of the last data lines that were not empty, the last one first. Returns at most {@linkcode
   * LAST_LINES} values. Of a long line, returns only the first and last 500 bytes.
   */
  last(): readonly string[] {
    return this.#last.map((text) =>
      utf8InByteText(text.slice(DATA_PREFIX.length)).trim()
    );
  }

  /** Starts to sum the bytes by which each further data line exceeds this length, however it is split into chunks. */
  measureAbove(bytes: number): void {
    this.#floorBytes = bytes;
  }

  /** Returns the sum of {@linkcode DataLines.measureAbove}. */
  bytesAbove(): number {
    return this.#bytesAbove;
  }

  /** Handles bytes in which each line ends in a line feed. */
  #pushLines(chunk: Uint8Array, text: string): void {
    const end = text.lastIndexOf("\n") + 1;
    let start = 0;
    if (end > 0 && this.#pending.length > 0) {
      start = text.indexOf("\n") + 1;
      this.#pending.append(chunk.subarray(0, start - 1));
      this.#take(this.#pending.bytes, this.#pending.length);
      this.#pending.clear();
    }
    while (start < end && (this.#isFirstLine || this.#sink.wantsEvery())) {
      const feed = text.indexOf("\n", start);
      this.#take(chunk.subarray(start, feed), feed - start);
      start = feed + 1;
    }
    if (start < end && this.#find !== undefined) {
      const lines = { bytes: chunk, text, start, end };
      this.#skim(lines, this.#find);
      this.#remember(lastLines(lines));
    }
    if (end < chunk.length) this.#pending.append(chunk.subarray(end));
  }

  /** Handles one line of the length `lineBytes`. If the line is too long, `bytes` holds only its two ends. */
  #take(bytes: Uint8Array, lineBytes: number): void {
    const line = this.#unmarked(bytes);
    this.#isFirstLine = false;
    const text = byteText(line);
    if (!isData(text, 0)) return;
    if (hasValue(text, 0, text.length)) {
      this.#remember([bothEnds(text)]);
      this.#addBytes(lineBytes - (text.endsWith("\r") ? 1 : 0));
    }
    if (lineBytes > this.#maxLineBytes) return;
    const isGiven = text.length > LONG_BYTES || this.#sink.wantsEvery() ||
      this.#find !== undefined && this.#find(text, 0) !== -1;
    if (isGiven) this.#sink.line(valueOf(line));
  }

  /** Passes on the lines that are long or contain the needle, in their order, and counts the bytes of all lines. */
  #skim({ bytes, text, start, end }: WholeLines, find: Finder): void {
    let foundAt = orEnd(find(text, start), end);
    for (let from = start; from < end;) {
      // Usually, every second line is empty.
      const feed = text.charCodeAt(from) === FEED
        ? from
        : text.indexOf("\n", from);
      const length = feed - from;
      const isWanted = foundAt < feed || length > LONG_BYTES;
      const isSeen = isWanted || length > this.#floorBytes;
      if (isSeen && isData(text, from)) {
        if (hasValue(text, from, feed)) {
          this.#addBytes(
            length - (text.charCodeAt(feed - 1) === RETURN ? 1 : 0),
          );
        }
        if (isWanted && length <= this.#maxLineBytes) {
          this.#sink.line(valueOf(bytes.subarray(from, feed)));
        }
      }
      if (foundAt < feed) foundAt = orEnd(find(text, feed), end);
      from = feed + 1;
    }
  }

  #addBytes(lineBytes: number): void {
    this.#bytesAbove += Math.max(0, lineBytes - this.#floorBytes);
  }

  /** Keeps the newest lines. */
  #remember(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#last = [...lines, ...this.#last].slice(0, LAST_LINES);
  }

  /** Removes a byte order mark at the start of the stream. */
  #unmarked(line: Uint8Array): Uint8Array {
    const isMarked = this.#isFirstLine && byteText(line).startsWith(MARK);
    return isMarked ? line.subarray(MARK.length) : line;
  }
}

/** Returns the last few data lines that have a value, the last one first. */
function lastLines({ bytes, text, start, end }: WholeLines): readonly string[] {
  const found: Line[] = [];
  let tail = end;
  while (tail > start && found.length < LAST_LINES) {
    const feed = tail - 1;
    tail = beginOfLine(bytes, feed);
    if (isData(text, tail) && hasValue(text, tail, feed)) {
      found.push({ begin: tail, feed });
    }
  }
  if (found.length === 0) return [];
  // A slice would keep the whole text in memory.
  const own = tail === 0 ? text : byteText(bytes.subarray(tail, end));
  return found.map(({ begin, feed }) =>
    bothEnds(own.slice(begin - tail, feed - tail))
  );
}

/** Complete lines of a chunk with their line feeds, from `start` to `end`. */
interface WholeLines {
  readonly bytes: Uint8Array;
  /** The bytes as a text of `byteText`. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The position of a line in its chunk. */
interface Line {
  readonly begin: number;
  readonly feed: number;
}

function valueOf(line: Uint8Array): string {
  return decoder.decode(line.subarray(DATA_PREFIX.length)).trim();
}

function isData(text: string, begin: number): boolean {
  return text.startsWith(DATA_PREFIX, begin);
}

/** Returns true when the prefix is followed by more than spaces and a carriage return. */
function hasValue(text: string, begin: number, end: number): boolean {
  for (let index = begin + DATA_PREFIX.length; index < end; index++) {
    if (text.charCodeAt(index) > SPACE) return true;
  }
  return false;
}

/** Returns the position of a match; `end` if there is no match before `end`. */
function orEnd(position: number, end: number): number {
  return position === -1 ? end : Math.min(position, end);
}

/** Returns a line: whole up to 1 KiB, else its first and last 512 bytes. */
function bothEnds(line: string): string {
  return line.length <= LONG_BYTES
    ? line
    : [line.slice(0, END_BYTES), line.slice(-END_BYTES)].join("");
}

/** Returns the start of the line that contains the byte at `position`; lines end in a line feed. */
function beginOfLine(bytes: Uint8Array, position: number): number {
  // A negative position would count from the end.
  return position === 0 ? 0 : bytes.lastIndexOf(FEED, position - 1) + 1;
}
