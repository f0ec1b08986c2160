import {
  fromTime,
  type LoggedRequest,
  type LogLineCounts,
  readLog,
} from "@gateway/gateway/log";
import type { CliIo } from "../command.ts";
import { endSentence } from "@gateway/base/text";

/** The access to the logs that a command names. */
export interface LogTools extends Pick<CliIo, "writeError"> {
  /**
   * Returns the identity of a file. The identity is the same under each name of the file. Returns `undefined` when
   * there is no file.
   */
  readonly identify: (path: string) => Promise<string | undefined>;
  /**
   * Opens a log.
   *
   * @param path The path of a file; undefined for standard input.
   * @param isWanted Called once with the identity of the file. Returns true when the file is to be read.
   * @returns The bytes of the log; `undefined` when the log is not wanted.
   * @throws {Error} With a reason for people, when the log cannot be opened.
   */
  readonly open: (
    path: string | undefined,
    isWanted: (id: string) => boolean,
  ) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Returns true when standard input is a terminal. */
  readonly isTyped: () => boolean;
}

/** The first and the last day that a command counts, in UTC, such as `2026-11-01`. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

const DAY_REGEXP = /^\d{4}-\d\d-\d\d$/;

/** Returns the start of a day, in milliseconds since 1970; NaN when the text is not a day. */
export function dayMs(text: string): number {
  return DAY_REGEXP.test(text) ? Date.parse(text) : NaN;
}

/** The path that names standard input. */
const STANDARD_INPUT = "-";

/** The options of {@linkcode addLogs}. */
interface Adding {
  readonly onRequest: (request: LoggedRequest) => void;
  /** The days whose lines are read; default: all. */
  readonly days?: Days | undefined;
  /** The counts of lines. Reading the logs adds to these counts. */
  readonly lines: LogLineCounts;
  readonly tools: LogTools;
}

/**
 * Adds each file once, even if the command names the file twice, or a log rotation renames the file while the logs are
 * read.
 *
 * @returns True when all logs were read to their ends.
 */
export async function addLogs(
  paths: readonly string[],
  adding: Adding,
): Promise<boolean> {
  const ids = await Promise.all(
    paths.map((path) =>
      path === STANDARD_INPUT ? undefined : adding.tools.identify(path)
    ),
  );
  const seen = new Set<string>();
  let isWhole = true;
  for (const [index, path] of paths.entries()) {
    const fault = await addLog(path, seen, adding);
    if (fault === undefined) continue;
    reportUnread(path, fault, adding);
    isWhole = false;
    seen.add(ids[index] ?? path);
  }
  for (const [index, path] of paths.entries()) {
    const id = ids[index];
    if (id === undefined || seen.has(id)) continue;
    const fault = "it was renamed meanwhile. Run the command again";
    reportUnread(path, fault, adding);
    isWhole = false;
    seen.add(id);
  }
  return isWhole;
}

function reportUnread(path: string, fault: string, { tools }: Adding): void {
  const name = path === STANDARD_INPUT ? "standard input" : path;
  tools.writeError(`Cannot read ${name} to its end: ${endSentence(fault)}\n`);
}

/**
 * Adds a log, unless the same file was added before.
 *
 * @returns The reason why the log was not read to its end; `undefined` when it was read to its end.
 */
async function addLog(
  path: string,
  seen: Set<string>,
  { onRequest, days, lines, tools }: Adding,
): Promise<string | undefined> {
  const isInput = path === STANDARD_INPUT;
  if (isInput && tools.isTyped()) tools.writeError(TYPED);
  try {
    const chunks = await tools.open(
      isInput ? undefined : path,
      (id) => {
        const isNew = !seen.has(id);
        seen.add(id);
        return isNew;
      },
    );
    if (chunks === undefined) return undefined;
    await readLog(chunks, {
      counts: lines,
      ...days && { isWanted: (line) => isOf(days, line) },
      onRequest,
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "unknown error";
  }
}

/** Returns true when a line is of these days, or has no time. */
function isOf({ from, to }: Days, line: string): boolean {
  const day = fromTime(line)?.slice(0, from.length);
  return day === undefined || (day >= from && day <= to);
}

const TYPED =
  "Reading standard input. Press Ctrl-D to end it, or use --help for more.\n";
