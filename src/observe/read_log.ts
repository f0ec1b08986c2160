import { joinBytes } from "../streams/bytes.ts";
import {
  type Compression,
  createInflater,
  type Inflater,
} from "../streams/decompress.ts";
import { type LoggedRequest, readLogLine } from "./logged_request.ts";

/** How many lines of a log were what. */
export interface LogLineCounts {
  /** Requests that a provider was asked to answer. */
  requests: number;
  /** Other lines of the gateway. */
  other: number;
  /** Lines that are torn, of something else, or in the format for people. */
  unreadable: number;
}

/** Many times what the longest line has that the gateway writes. */
const MAX_LINE_LENGTH = 1024 * 1024;

/** Counts of a log of which nothing is read. */
export function noLines(): LogLineCounts {
  return { requests: 0, other: 0, unreadable: 0 };
}

/**
 * Reads a JSON log of the gateway, which may be packed by gzip or zstd, in a stream: its size costs no memory.
 *
 * @param pieces The bytes of a file, cut anywhere.
 * @param options.counts What is added to, also of a log that breaks off.
 * @param options.isWanted Whether a line is to be read; what is not is counted nowhere. Default: all.
 * @param options.onRequest Takes each request that a provider was asked to answer, in the order of the log.
 * @throws What `pieces` throws, and an error for packed bytes that are damaged or end too early.
 */
export async function readLog(
  pieces: AsyncIterable<Uint8Array>,
  { counts, isWanted = () => true, onRequest }: {
    readonly counts: LogLineCounts;
    readonly isWanted?: (line: string) => boolean;
    readonly onRequest: (request: LoggedRequest) => void;
  },
): Promise<void> {
  await readTextLines(unpack(pieces), {
    maxLength: MAX_LINE_LENGTH,
    onLine(line) {
      if (!isWanted(line)) return;
      const read = readLogLine(line);
      if (read === "other") counts.other++;
      else if (read !== "unreadable") {
        counts.requests++;
        onRequest(read);
      } else if (line.trim() !== "") counts.unreadable++;
    },
    onLongLine: () => void counts.unreadable++,
  });
}

/** How {@linkcode readTextLines} reads. */
interface TextLinesOptions {
  /** A longer line is passed over: its length, in UTF-16 code units, without its line feed. */
  readonly maxLength: number;
  /** Takes a line without its line feed. It is a view of a larger text: whoever keeps a part of it copies that. */
  readonly onLine: (line: string) => void;
  /** Called once for each line that is too long. */
  readonly onLongLine: () => void;
}

/**
 * Reads the lines of a text in UTF-8, however large it is: no more of it is held than one piece and one line. What is
 * not UTF-8 is read as U+FFFD. Nothing is called for the nothing behind the last line feed.
 *
 * @param pieces The bytes, cut anywhere.
 * @throws What `pieces` or one of the callbacks throws.
 */
export async function readTextLines(
  pieces: AsyncIterable<Uint8Array>,
  { maxLength, onLine, onLongLine }: TextLinesOptions,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  let isInLongLine = false;

  function endLine(line: string): void {
    if (line.length > maxLength) onLongLine();
    else onLine(line);
  }

  function take(text: string): void {
    let start = 0;
    if (isInLongLine) {
      start = text.indexOf("\n") + 1;
      if (start === 0) return;
      isInLongLine = false;
    }
    const whole = rest + text;
    let end = whole.indexOf("\n", Math.max(start, rest.length));
    while (end !== -1) {
      endLine(whole.slice(start, end));
      start = end + 1;
      end = whole.indexOf("\n", start);
    }
    rest = whole.slice(start);
    if (rest.length <= maxLength) return;
    onLongLine();
    rest = "";
    isInLongLine = true;
  }

  for await (const piece of pieces) {
    take(decoder.decode(piece, { stream: true }));
  }
  take(decoder.decode());
  if (rest !== "") endLine(rest);
}

/** What the formats that a log is packed in begin with: RFC 1952 and RFC 8878. */
const BEGINNINGS: readonly (readonly [Compression, readonly number[]])[] = [
  ["gzip", [0x1f, 0x8b]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
];

/** How many bytes tell them apart. */
const BEGINNING_LENGTH = 4;

/**
 * The bytes of a file as they were before it was packed by gzip or zstd, which its first bytes tell; of any other file
 * its own.
 *
 * @param pieces The file, cut anywhere.
 * @throws What `pieces` throws, and an error for packed bytes that are damaged or end too early.
 */
export async function* unpack(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const whole = joinBeginning(pieces);
  let inflater: Inflater | undefined;
  try {
    const { value: first } = await whole.next();
    const compression = first && compressionOf(first);
    if (first === undefined) return;
    if (compression === undefined) {
      yield first;
      yield* whole;
      return;
    }
    inflater = createInflater(compression);
    yield* inflater.push(first);
    for await (const piece of whole) yield* inflater.push(piece);
    yield* inflater.end();
  } finally {
    inflater?.destroy();
    await whole.return();
  }
}

/** The same bytes, with enough of them in the first piece. */
async function* joinBeginning(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  let beginning = new Uint8Array();
  for await (const piece of pieces) {
    if (beginning.length >= BEGINNING_LENGTH) {
      yield piece;
      continue;
    }
    beginning = joinBytes([beginning, piece]);
    if (beginning.length >= BEGINNING_LENGTH) yield beginning;
  }
  if (beginning.length > 0 && beginning.length < BEGINNING_LENGTH) {
    yield beginning;
  }
}

function compressionOf(first: Uint8Array): Compression | undefined {
  return BEGINNINGS.find(([, bytes]) =>
    bytes.every((byte, index) => first[index] === byte)
  )?.[0];
}
