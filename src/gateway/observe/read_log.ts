import { joinBytes } from "@gateway/base/streams/bytes";
import {
  type Compression,
  createInflater,
  type Inflater,
} from "@gateway/base/streams/decompress";
import { type LoggedRequest, readLogLine } from "./logged_request.ts";

/** The number of lines of a log, by kind. */
export interface LogLineCounts {
  /** Requests that were sent to a provider. */
  requests: number;
  /** Other lines of the gateway. */
  other: number;
  /** Lines that are torn, foreign, or in the format for people. */
  unreadable: number;
}

/** The longest line that is read, in UTF-16 code units. The gateway writes much shorter lines. */
const MAX_LINE_LENGTH = 1024 * 1024;

/** Returns the counts of a log before its first line. */
export function noLines(): LogLineCounts {
  return { requests: 0, other: 0, unreadable: 0 };
}

/**
 * Reads a JSON log of the gateway as a stream, so that a large log needs no more memory than a small log. The log may
 * be compressed with gzip or zstd.
 *
 * @param chunks The bytes of a file, cut anywhere.
 * @param options.counts The counts to add to. After an error, these counts include the lines before the error.
 * @param options.isWanted Returns true for a line to read. Other lines are not counted. Default: all lines are read.
 * @param options.onRequest Receives each request that was sent to a provider, in the order of the log.
 * @throws The error of `chunks`, or an error for compressed bytes that are damaged or incomplete.
 */
export async function readLog(
  chunks: AsyncIterable<Uint8Array>,
  { counts, isWanted = () => true, onRequest }: {
    readonly counts: LogLineCounts;
    readonly isWanted?: (line: string) => boolean;
    readonly onRequest: (request: LoggedRequest) => void;
  },
): Promise<void> {
  await readTextLines(unpack(chunks), {
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

interface TextLinesOptions {
  /** The longest line to read, in UTF-16 code units without its line feed. Longer lines are skipped. */
  readonly maxLength: number;
  /**
   * Receives a line without its line feed. The line is a view of a larger text, so copy a part of the line before
   * keeping that part.
   */
  readonly onLine: (line: string) => void;
  /** Called once for each line that is too long. */
  readonly onLongLine: () => void;
}

/**
 * Reads the lines of a UTF-8 text of any size. Holds at most one chunk and one line in memory. Invalid bytes are read
 * as U+FFFD. A final line feed does not begin another line.
 *
 * @param chunks The bytes, cut anywhere.
 * @throws The error of `chunks` or of a callback.
 */
export async function readTextLines(
  chunks: AsyncIterable<Uint8Array>,
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

  for await (const chunk of chunks) {
    take(decoder.decode(chunk, { stream: true }));
  }
  take(decoder.decode());
  if (rest !== "") endLine(rest);
}

/** The first bytes of the compression formats of logs: RFC 1952 and RFC 8878. */
const BEGINNINGS: readonly (readonly [Compression, readonly number[]])[] = [
  ["gzip", [0x1f, 0x8b]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
];

/** The number of first bytes that distinguish the formats. */
const BEGINNING_LENGTH = 4;

/**
 * Decompresses a file that begins as gzip or zstd. Yields the bytes of any other file unchanged.
 *
 * @param chunks The file, cut anywhere.
 * @throws The error of `chunks`, or an error for compressed bytes that are damaged or incomplete.
 */
export async function* unpack(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const whole = joinBeginning(chunks);
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
    for await (const chunk of whole) yield* inflater.push(chunk);
    yield* inflater.end();
  } finally {
    inflater?.destroy();
    await whole.return();
  }
}

/** Yields the bytes of the chunks. The first chunk that it yields is long enough to recognise the format. */
async function* joinBeginning(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  let beginning = new Uint8Array();
  for await (const chunk of chunks) {
    if (beginning.length >= BEGINNING_LENGTH) {
      yield chunk;
      continue;
    }
    beginning = joinBytes([beginning, chunk]);
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
