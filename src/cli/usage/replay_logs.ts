import type { Config } from "../../config/config.ts";
import { readFault } from "../../config/named_file.ts";
import type { Log } from "../../observe/log.ts";
import {
  type LogLineCounts,
  noLines,
  readLog,
} from "../../observe/read_log.ts";
import type { Counting } from "../../usage/counting.ts";
import { createReplay, type Replay } from "../../usage/replay.ts";
import type { LogFile, LogFiles } from "./log_files.ts";

/** What {@linkcode replayLogs} reads, and where what it finds goes. */
export interface ReplayLogsOptions {
  /** Paths with wildcards. */
  readonly patterns: readonly string[];
  readonly config: Pick<Config, "callers">;
  readonly counting: Pick<Counting, "count" | "completeSince">;
  readonly files: LogFiles;
  readonly log: Log;
  /** From when on this process counts itself, in milliseconds since 1970. */
  readonly untilMs: number;
}

const DAY_MS = 86_400_000;

/** Longer than any window whose usage is counted. */
const KEPT_MS = 33 * DAY_MS;

/**
 * Counts what logs say that was used before this process began to count. The files that were written last come first,
 * so that the short windows are complete early. Nothing is written, and nothing that cannot be read ends anything: it
 * is logged, and counts stay those since the start then.
 */
export async function replayLogs(options: ReplayLogsOptions): Promise<void> {
  const { counting, log, untilMs } = options;
  const startedMs = performance.now();
  const replay = createReplay(options);
  const lines = noLines();
  const keptFromMs = untilMs - KEPT_MS;
  const { found, isAll } = await findFiles(options);
  const recent = found.filter(({ writtenMs }) => writtenMs >= keptFromMs);
  let isWhole = isAll;
  for (const file of recent) {
    isWhole =
      await replayFile(file, { ...options, replay, lines, keptFromMs }) &&
      isWhole;
  }
  replay.flush();
  const { counted, unknownToken, late } = replay.counts;
  const sinceMs = isWhole ? replay.firstMs : undefined;
  if (sinceMs !== undefined) counting.completeSince(sinceMs);
  log.write("info", "usage_replayed", {
    files: recent.length,
    requests: counted,
    unknown_token: unknownToken,
    late,
    other_lines: lines.other,
    unreadable_lines: lines.unreadable,
    complete_since: sinceMs && new Date(sinceMs).toISOString(),
    ms: Math.round(performance.now() - startedMs),
  });
}

/** Each file once, the one that was written last first. */
async function findFiles(
  { patterns, files, log }: ReplayLogsOptions,
): Promise<{ readonly found: readonly LogFile[]; readonly isAll: boolean }> {
  const byPath = new Map<string, LogFile>();
  let isAll = true;
  for (const pattern of patterns) {
    const found = await files.find(pattern).catch((error: unknown) => {
      isAll = false;
      warn(log, { path: pattern, reason: readFault(error) });
      return undefined;
    });
    if (found?.length === 0) {
      isAll = false;
      warn(log, { path: pattern, reason: "finds no file" });
    }
    for (const file of found ?? []) byPath.set(file.path, file);
  }
  const found = [...byPath.values()]
    .sort((one, other) => other.writtenMs - one.writtenMs);
  return { found, isAll };
}

/** @returns Whether the file was read to its end. */
async function replayFile(
  file: LogFile,
  { files, log, replay, lines, keptFromMs }: ReplayLogsOptions & {
    readonly replay: Replay;
    readonly lines: LogLineCounts;
    readonly keptFromMs: number;
  },
): Promise<boolean> {
  try {
    await readLog(files.read(file), {
      counts: lines,
      isWanted: isSince(new Date(keptFromMs).toISOString()),
      onRequest: replay.add,
    });
    return true;
  } catch (error) {
    warn(log, { path: file.path, reason: readFault(error) });
    return false;
  }
}

const BEGINNING = '{"time":"';

/** Whether a line is of a moment or later, as far as its beginning tells: to parse the others would take long. */
function isSince(time: string): (line: string) => boolean {
  const end = BEGINNING.length + time.length;
  return (line) =>
    !line.startsWith(BEGINNING) || line.slice(BEGINNING.length, end) >= time;
}

function warn(
  log: Log,
  fields: { readonly path: string; readonly reason: string },
): void {
  log.write("warn", "usage_not_replayed", fields);
}
