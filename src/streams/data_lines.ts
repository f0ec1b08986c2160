/** What a reader of data lines is told. */
export interface DataLineSink {
  /** Whether every data line is wanted now; else only those that hold `needle`. */
  wantsEvery(): boolean;
  /** The value of a `data:` line. */
  line(data: string): void;
}

/** Picks data lines out of the bytes of a server-sent event stream that goes by. */
export interface DataLines {
  /** Takes the next bytes; they are not changed and not kept longer than until the next call. */
  push(chunk: Uint8Array): void;
  /** The beginning of the last data line that was whole; empty when there was none. */
  lastLine(): string;
}

/** A line longer than this is passed over. */
const MAX_LINE_BYTES = 1024 * 1024;

const LINE_FEED = 10;

/** `data:` */
const DATA_PREFIX = [100, 97, 116, 97, 58];

/** How much of the last line is kept. */
const LAST_LINE_BYTES = 512;

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
  let last: Uint8Array = new Uint8Array();

  function take(line: Uint8Array): void {
    if (!DATA_PREFIX.every((byte, index) => line[index] === byte)) return;
    if (line.length > DATA_PREFIX.length + 1) last = line;
    if (!sink.wantsEvery() && !finder(line)) return;
    sink.line(decoder.decode(line.subarray(DATA_PREFIX.length)).trim());
  }

  function keep(rest: Uint8Array): void {
    pendingBytes += rest.length;
    if (pendingBytes <= MAX_LINE_BYTES) pending.push(rest.slice());
    else pending = [];
  }

  function takePending(rest: Uint8Array): void {
    if (pendingBytes === 0) return take(rest);
    keep(rest);
    if (pending.length > 0) take(concat(pending));
    pending = [];
    pendingBytes = 0;
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
      last = last.slice(0, LAST_LINE_BYTES);
    },
    lastLine() {
      return decoder.decode(last.subarray(DATA_PREFIX.length)).trim();
    },
  };
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
