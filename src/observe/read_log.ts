import { readTextLines } from "../streams/text_lines.ts";
import { unpack } from "../streams/unpack.ts";
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
