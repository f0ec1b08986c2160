import { bytesOf, byteText, utf8InByteText } from "./bytes.ts";
import { beginOfLine, findLongLine } from "./find_line.ts";
import { createLineBuffer, END_BYTES, LONG_BYTES } from "./line_buffer.ts";

/** What a reader of data lines is told. */
interface DataLineSink {
  /** Whether every data line is wanted yet; once it is not, only those are that hold `needle`, if there is one. */
  wantsEvery(): boolean;
  /**
   * The value of a `data:` line that is wanted, or longer than {@linkcode LONG_BYTES}, since not all of it is
   * remembered.
   */
  line(data: string): void;
}

/** Picks data lines out of the bytes of a server-sent event stream that goes by. */
interface DataLines {
  /** Takes the next bytes, which are neither changed nor kept; `text` is what `byteText` makes of them. */
  push(chunk: Uint8Array, text?: string): void;
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
  bytesAbove(): number;
}

/** How {@linkcode createDataLines} is bounded. */
interface DataLinesOptions {
  /** A line longer than this is not given to the sink; default 1 MiB. */
  readonly maxLineBytes?: number;
}

/** How many lines {@linkcode DataLines.last} remembers. */
const LAST_LINES = 4;

const DATA_PREFIX = "data:";

const SPACE = 32;

/** A byte order mark as `byteText` has it. */
const MARK = "\xef\xbb\xbf";

/** A carriage return that has no line feed behind it, at least not in the same chunk. */
const LONE_RETURN_REGEXP = /\r(?!\n)/g;

const decoder = new TextDecoder();

/**
 * A line reader that decodes only what is asked for. Once not every line is wanted, most are not even told apart: a
 * search for `needle` passes over them. Lines end in LF, CRLF or CR, and a byte order mark at the very beginning is
 * passed over (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
 *
 * @param needle ASCII text that a wanted line holds, such as `usage"`. Without one nothing more is read once not every
 * line is wanted.
 */
export function createDataLines(
  needle: string | undefined,
  sink: DataLineSink,
  { maxLineBytes = 1024 * 1024 }: DataLinesOptions = {},
): DataLines {
  const pending = createLineBuffer(maxLineBytes);
  let isFirstLine = true;
  /** As `byteText` has them, the last one first. */
  let last: readonly string[] = [];
  let floorBytes = Infinity;
  let bytesAbove = 0;

  function remember(lines: readonly string[]): void {
    last = lines.length === LAST_LINES
      ? lines
      : [...lines, ...last].slice(0, LAST_LINES);
  }

  /** A line without the byte order mark that may begin the stream. */
  function unmarked(line: Uint8Array): Uint8Array {
    const isMarked = isFirstLine && byteText(line).startsWith(MARK);
    return isMarked ? line.subarray(MARK.length) : line;
  }

  /** Of a line that is too long there are only the ends; `lineBytes` is how long it is. */
  function take(bytes: Uint8Array, lineBytes: number): void {
    const line = unmarked(bytes);
    isFirstLine = false;
    const text = byteText(line);
    if (!isData(text, 0)) return;
    if (hasValue(text, 0, text.length)) {
      remember([bothEnds(text)]);
      bytesAbove += Math.max(0, lineBytes - floorBytes);
    }
    if (lineBytes > maxLineBytes) return;
    const isGiven = text.length > LONG_BYTES || sink.wantsEvery() ||
      needle !== undefined && text.includes(needle);
    if (isGiven) sink.line(valueOf(line));
  }

  /** Gives those of some whole lines that are long or hold the text that is wanted, in their order. */
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

  /** Remembers the last few of some whole lines, by which it adds up what is above in all of them. */
  function rememberLast({ bytes, text, start, end }: WholeLines): void {
    const found: Line[] = [];
    let above = 0;
    let behind = end;
    while (behind > start && found.length < LAST_LINES) {
      const feed = behind - 1;
      behind = beginOfLine(bytes, feed);
      if (isData(text, behind) && hasValue(text, behind, feed)) {
        found.push({ begin: behind, feed });
        above += Math.max(0, feed - behind - floorBytes);
      }
    }
    if (found.length === 0) return;
    // A part of a text keeps all of it alive.
    const own = behind === 0 ? text : byteText(bytes.subarray(behind, end));
    remember(
      found.map(({ begin, feed }) =>
        bothEnds(own.slice(begin - behind, feed - behind))
      ),
    );
    const isAll = found.length < LAST_LINES;
    bytesAbove += isAll ? above : above * (end - start) / (end - behind);
  }

  /** Takes bytes in which each line ends in a line feed. */
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
      // Where that makes two ends of a CRLF in two chunks, the empty line between them tells nothing.
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

/** Lines of a chunk with their line feeds, from `start` to `end`. */
interface WholeLines {
  readonly bytes: Uint8Array;
  /** The same as `byteText` has them. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Where a line stands in its chunk. */
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

/** Whether more than spaces and a carriage return stand behind the prefix. */
function hasValue(text: string, begin: number, end: number): boolean {
  for (let index = begin + DATA_PREFIX.length; index < end; index++) {
    if (text.charCodeAt(index) > SPACE) return true;
  }
  return false;
}

/** Where what was found stands, if that is before the end. */
function orEnd(position: number, end: number): number {
  return position === -1 ? end : Math.min(position, end);
}

/** A line, whole up to 1 KiB, else its first and last 512 bytes. */
function bothEnds(line: string): string {
  return line.length <= LONG_BYTES
    ? line
    : [line.slice(0, END_BYTES), line.slice(-END_BYTES)].join("");
}
