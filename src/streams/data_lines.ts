import { bytesOf, byteText, utf8InByteText } from "./bytes.ts";
import { beginOfLine, findLongLine } from "./find_line.ts";
import { createLineBuffer, END_BYTES, LONG_BYTES } from "./line_buffer.ts";

/** The receiver of data lines. */
interface DataLineSink {
  /** Returns true while each data line is wanted. After that, only lines with `needle` are wanted, if there is one. */
  wantsEvery(): boolean;
  /**
   * Receives the value of a `data:` line that is wanted, or that is longer than {@linkcode LONG_BYTES} and not kept
   * whole.
   */
  line(data: string): void;
}

/** Finds the data lines in the bytes of an event stream. */
interface DataLines {
  /** Reads the next bytes without changing or keeping them. `text` is the result of `byteText` for them, if known. */
  push(chunk: Uint8Array, text?: string): void;
  /** Returns the value of an unfinished data line; empty when there is none. */
  unfinished(): string;
  /**
   * Returns the values of the last data lines that were not empty, the last one first: at most {@linkcode LAST_LINES},
   * and of long ones the first and last 500 bytes.
   */
  last(): readonly string[];
  /** Sums the bytes of each data line beyond this length, from the next line on, however the lines are divided. */
  measureAbove(bytes: number): void;
  /** Returns the sum. */
  bytesAbove(): number;
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

/**
 * Creates a line reader that decodes only wanted lines. Once not all lines are wanted, it searches for `needle` without
 * splitting the bytes into lines. Lines end in LF, CRLF or CR, and a byte order mark at the start is skipped
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
 *
 * @param needle ASCII text in a wanted line, such as `usage"`. Without one, nothing is read once not all lines are
 * wanted.
 */
export function createDataLines(
  needle: string | undefined,
  sink: DataLineSink,
  { maxLineBytes = 1024 * 1024 }: DataLinesOptions = {},
): DataLines {
  const pending = createLineBuffer(maxLineBytes);
  let isFirstLine = true;
  /** The last lines as texts of `byteText`, the last one first. */
  let last: readonly string[] = [];
  let floorBytes = Infinity;
  let bytesAbove = 0;

  function remember(lines: readonly string[]): void {
    last = lines.length === LAST_LINES
      ? lines
      : [...lines, ...last].slice(0, LAST_LINES);
  }

  /** Removes the byte order mark that may begin the stream. */
  function unmarked(line: Uint8Array): Uint8Array {
    const isMarked = isFirstLine && byteText(line).startsWith(MARK);
    return isMarked ? line.subarray(MARK.length) : line;
  }

  /** Handles one line of the length `lineBytes`. If it is too long, `bytes` holds only its two ends. */
  function take(bytes: Uint8Array, lineBytes: number): void {
    const line = unmarked(bytes);
    isFirstLine = false;
    const text = byteText(line);
    if (!isData(text, 0)) return;
    if (hasValue(text, 0, text.length)) {
      remember([bothEnds(text)]);
      measure(lineBytes - (text.endsWith("\r") ? 1 : 0));
    }
    if (lineBytes > maxLineBytes) return;
    const isGiven = text.length > LONG_BYTES || sink.wantsEvery() ||
      needle !== undefined && text.includes(needle);
    if (isGiven) sink.line(valueOf(line));
  }

  /** Passes on the lines that are long or contain the wanted text, in their order. */
  function skim({ bytes, text, start, end }: WholeLines, wanted: string): void {
    let wantedAt = -1;
    let longAt = -1;
    for (let from = start; from < end;) {
      if (wantedAt < from) wantedAt = orEnd(text.indexOf(wanted, from), end);
      if (longAt < from) longAt = orEnd(findLongLine(bytes, from, end), end);
      const at = Math.min(wantedAt, longAt);
      if (at === end) return;
      const begin = beginOfLine(bytes, at);
      const feed = text.indexOf("\n", at);
      if (isData(text, begin) && feed - begin <= maxLineBytes) {
        sink.line(valueOf(bytes.subarray(begin, feed)));
      }
      from = feed + 1;
    }
  }

  /** Adds a data line of this length, without its line end, to the sum. */
  function measure(lineBytes: number): void {
    if (lineBytes > floorBytes) bytesAbove += lineBytes - floorBytes;
  }

  /** Adds all data lines to the sum. */
  function measureAll({ text, start, end }: WholeLines): void {
    if (floorBytes === Infinity) return;
    for (let from = start; from < end;) {
      // Every other line is empty.
      const feed = text.charCodeAt(from) === FEED
        ? from
        : text.indexOf("\n", from);
      if (
        feed - from > floorBytes && isData(text, from) &&
        hasValue(text, from, feed)
      ) {
        measure(feed - from - (text.charCodeAt(feed - 1) === RETURN ? 1 : 0));
      }
      from = feed + 1;
    }
  }

  /** Keeps the last few lines. */
  function rememberLast({ bytes, text, start, end }: WholeLines): void {
    const found: Line[] = [];
    let tail = end;
    while (tail > start && found.length < LAST_LINES) {
      const feed = tail - 1;
      tail = beginOfLine(bytes, feed);
      if (isData(text, tail) && hasValue(text, tail, feed)) {
        found.push({ begin: tail, feed });
      }
    }
    if (found.length === 0) return;
    // A slice keeps its whole text in memory.
    const own = tail === 0 ? text : byteText(bytes.subarray(tail, end));
    remember(
      found.map(({ begin, feed }) =>
        bothEnds(own.slice(begin - tail, feed - tail))
      ),
    );
  }

  /** Handles bytes in which each line ends in a line feed. */
  function pushLines(chunk: Uint8Array, text: string): void {
    const end = text.lastIndexOf("\n") + 1;
    let start = 0;
    if (end > 0 && pending.length() > 0) {
      start = text.indexOf("\n") + 1;
      pending.append(chunk.subarray(0, start - 1));
      take(pending.bytes(), pending.length());
      pending.clear();
    }
    while (start < end && (isFirstLine || sink.wantsEvery())) {
      const feed = text.indexOf("\n", start);
      take(chunk.subarray(start, feed), feed - start);
      start = feed + 1;
    }
    if (start < end && needle !== undefined) {
      const lines = { bytes: chunk, text, start, end };
      skim(lines, needle);
      measureAll(lines);
      rememberLast(lines);
    }
    if (end < chunk.length) pending.append(chunk.subarray(end));
  }

  return {
    measureAbove(bytes) {
      floorBytes = bytes;
    },
    bytesAbove: () => bytesAbove,
    push(chunk, text = byteText(chunk)) {
      if (!text.includes("\r")) {
        pushLines(chunk, text);
        return;
      }
      // A CRLF that is split between chunks gives an extra empty line, which has no effect.
      const fed = text.replace(LONE_RETURN_REGEXP, "\n");
      pushLines(fed === text ? chunk : bytesOf(fed), fed);
    },
    unfinished() {
      const line = unmarked(pending.bytes());
      return isData(byteText(line), 0) ? valueOf(line) : "";
    },
    last: () =>
      last.map((text) => utf8InByteText(text.slice(DATA_PREFIX.length)).trim()),
  };
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

/** Returns the position of a match; the end if there is none before it. */
function orEnd(position: number, end: number): number {
  return position === -1 ? end : Math.min(position, end);
}

/** Returns a line: whole up to 1 KiB, else its first and last 512 bytes. */
function bothEnds(line: string): string {
  return line.length <= LONG_BYTES
    ? line
    : [line.slice(0, END_BYTES), line.slice(-END_BYTES)].join("");
}
