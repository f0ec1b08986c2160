/** What a reader of data lines is told. */
export interface DataLineSink {
  /** Whether every data line is wanted now; else only those that hold `needle`. */
  wantsEvery(): boolean;
  /** The value of a `data:` line. */
  line(data: string): void;
}

/** Picks data lines out of the bytes of a server-sent event stream that goes by. */
export interface DataLines {
  /** Takes the next bytes; they are not changed and not kept. */
  push(chunk: Uint8Array): void;
  /** Told that no more bytes come: the last line need not have a line feed. */
  end(): void;
  /** The last two data lines; of a long one the beginning and the end, with a line feed between. */
  lastLines(): readonly string[];
}

/** Of a line longer than this only the beginning and the end are looked at. */
const MAX_LINE_BYTES = 1024 * 1024;

const LINE_FEED = 10;

/** `data:` */
const DATA_PREFIX = [100, 97, 116, 97, 58];

/** How much of a long line's beginning and of its end is kept. */
const EXCERPT_BYTES = 512;

/**
 * A line reader that decodes only what is asked for: most lines cost one native search for the line's end
 * and one skipping search for `needle`.
 *
 * @param needle ASCII text that a wanted line holds, such as `"usage"`.
 */
export function createDataLines(
  needle: string,
  sink: DataLineSink,
): DataLines {
  const finder = createFinder(needle);
  const decoder = new TextDecoder();
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let last = NO_LINE;
  let beforeLast = NO_LINE;

  function take(line: Uint8Array): void {
    if (!DATA_PREFIX.every((byte, index) => line[index] === byte)) return;
    if (line.length > DATA_PREFIX.length + 1) {
      beforeLast = last;
      last = line;
    }
    if (sink.wantsEvery() || finder(line)) sink.line(valueOf(line));
  }

  function keep(rest: Uint8Array): void {
    pending.push(rest.slice());
    pendingBytes += rest.length;
    if (pendingBytes <= MAX_LINE_BYTES) return;
    const excerpt = excerptOf(concat(pending));
    pending = [excerpt];
    pendingBytes = excerpt.length;
  }

  function takePending(rest: Uint8Array): void {
    if (pendingBytes === 0) return take(rest);
    keep(rest);
    const line = concat(pending);
    pending = [];
    pendingBytes = 0;
    take(line);
  }

  function valueOf(line: Uint8Array): string {
    return decoder.decode(line.subarray(DATA_PREFIX.length)).trim();
  }

  return {
    push(chunk) {
      let start = 0;
      let end = chunk.indexOf(LINE_FEED);
      while (end !== -1) {
        takePending(chunk.subarray(start, end));
        start = end + 1;
        end = chunk.indexOf(LINE_FEED, start);
      }
      if (start < chunk.length) keep(chunk.subarray(start));
      last = excerptOf(last);
      beforeLast = excerptOf(beforeLast);
    },
    end() {
      takePending(NO_LINE);
    },
    lastLines: () =>
      [beforeLast, last].filter((line) => line.length > 0)
        .map((line) => valueOf(excerptOf(line))),
  };
}

const NO_LINE: Uint8Array = new Uint8Array();

/** A short line as it is, a long one without its middle; a copy, which holds no chunk in memory. */
function excerptOf(line: Uint8Array): Uint8Array {
  if (line.length <= 2 * EXCERPT_BYTES + 1) return line.slice();
  return concat([
    line.subarray(0, EXCERPT_BYTES),
    Uint8Array.of(LINE_FEED),
    line.subarray(-EXCERPT_BYTES),
  ]);
}

/** Horspool's search: jumps by up to the needle's length. */
function createFinder(needle: string): (bytes: Uint8Array) => boolean {
  const wanted = new TextEncoder().encode(needle);
  const size = wanted.length;
  const jumps = new Uint8Array(256).fill(size);
  for (let index = 0; index < size - 1; index++) {
    jumps[wanted[index] ?? 0] = size - 1 - index;
  }
  return (bytes) => {
    let end = size - 1;
    while (end < bytes.length) {
      let offset = 0;
      while (
        offset < size && bytes[end - offset] === wanted[size - 1 - offset]
      ) offset++;
      if (offset === size) return true;
      end += jumps[bytes[end] ?? 0] ?? 1;
    }
    return false;
  };
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(
    parts.reduce((sum, part) => sum + part.length, 0),
  );
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
