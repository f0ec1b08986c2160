import type { Config } from "../config/config.ts";
import { readFault } from "../config/environment.ts";
import type { LiveConfig } from "../config/live_config.ts";
import { within } from "@gateway/base/time/deadlines";
import {
  type Clock,
  systemClock,
  systemTimers,
  type Timers,
} from "@gateway/base/time/timers";
import type { Log } from "../observe/log.ts";
import { fromTime } from "../observe/logged_request.ts";
import { type LogLineCounts, noLines, readLog } from "../observe/read_log.ts";
import { type Counting, createCounting } from "../usage/counting.ts";
import { HISTORY_DAYS } from "../usage/history.ts";
import { createMemorySums } from "../usage/memory_sums.ts";
import { createReplay, type Replay } from "../usage/replay.ts";
import type { Sums } from "../usage/sums.ts";
import { LOG_FILES, type LogFile, type LogFiles } from "./log/log_files.ts";

interface ReplayLogsOptions {
  /** The paths of logs, with wildcards. */
  readonly patterns: readonly string[];
  readonly config: Pick<Config, "callers" | "identity">;
  readonly counting: Pick<Counting, "count" | "countLife">;
  /** Sets the time since which all usage is counted, in milliseconds since 1970. */
  readonly completeSince: (sinceMs: number) => void;
  readonly files: LogFiles;
  readonly log: Log;
  /** The time when this process began to count usage itself, in milliseconds since 1970. */
  readonly untilMs: number;
}

const DAY_MS = 86_400_000;

/** Requests older than this are not counted. No window of a limit and no day of the history is older. */
const KEPT_MS = (HISTORY_DAYS + 1) * DAY_MS;

/**
 * Counts the logged usage from before this process began to count. Changes no file. Reads the newest files first, so
 * that the short windows are complete early. When a file cannot be read, this is logged, and the counts are reported as
 * complete only since the start of the process.
 */
export async function replayLogs(options: ReplayLogsOptions): Promise<void> {
  const { completeSince, log, untilMs } = options;
  const startedMs = performance.now();
  const replay = createReplay(options);
  const lines = noLines();
  const keptFromMs = untilMs - KEPT_MS;
  const { found, faults } = await findFiles(options);
  for (const fault of faults) log.write("usage_not_replayed", fault);
  const recent = found.filter(({ writtenMs }) => writtenMs >= keptFromMs);
  const unread = await replayAll(recent, {
    ...options,
    replay,
    lines,
    keptFromMs,
  });
  for (const fault of unread) log.write("usage_not_replayed", fault);
  replay.end();
  const { counted, unknownToken, late } = replay.counts;
  const isWhole = faults.length + unread.length === 0;
  const sinceMs = isWhole ? replay.firstMs : undefined;
  if (sinceMs !== undefined) completeSince(sinceMs);
  log.write("usage_replayed", {
    files: recent.length,
    requests: counted,
    unknown_token: unknownToken,
    late,
    other_lines: lines.other,
    unreadable_lines: lines.unreadable,
    complete_since: sinceMs === undefined
      ? undefined
      : new Date(sinceMs).toISOString(),
    total_ms: Math.round(performance.now() - startedMs),
  });
}

/** The reason why a log is not counted. */
interface ReplayFault {
  /** The pattern that found no file, or the path of the file. */
  readonly path: string;
  readonly reason: string;
}

/** Finds each file once, even if the file has several names. The file that was written last comes first. */
async function findFiles({ patterns, files }: ReplayLogsOptions): Promise<{
  readonly found: readonly LogFile[];
  readonly faults: readonly ReplayFault[];
}> {
  const byId = new Map<string, LogFile>();
  const faults: ReplayFault[] = [];
  for (const pattern of patterns) {
    try {
      const found = await files.find(pattern);
      for (const file of found) byId.set(file.id, file);
      if (found.length > 0) continue;
      faults.push({ path: pattern, reason: "matches no file" });
    } catch (error) {
      faults.push({ path: pattern, reason: readFault(error) });
    }
  }
  const found = [...byId.values()]
    .sort((one, other) => other.writtenMs - one.writtenMs);
  return { found, faults };
}

/** The dependencies of {@linkcode replayAll}. */
interface Replaying extends ReplayLogsOptions {
  readonly replay: Replay;
  readonly lines: LogLineCounts;
  readonly keptFromMs: number;
}

/** The most searches for files that a rotation renamed before they were read. */
const MAX_SEARCHES = 3;

/** Reads each file once, even if it was renamed. Returns the faults of the files that cannot be read. */
async function replayAll(
  found: readonly LogFile[],
  replaying: Replaying,
): Promise<readonly ReplayFault[]> {
  const faults: ReplayFault[] = [];
  let left = found;
  for (let searches = 0; left.length > 0; searches++) {
    const moved: LogFile[] = [];
    for (const file of left) {
      const error = await replayFile(file, replaying);
      if (isNotFound(error) && searches < MAX_SEARCHES) moved.push(file);
      else if (error !== undefined) {
        faults.push({ path: file.path, reason: readFault(error) });
      }
    }
    left = moved.length === 0 ? [] : await findAgain(moved, replaying);
  }
  return faults;
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.name === "NotFound";
}

/** Finds the new paths of renamed files; a file that is not found keeps its old path. */
async function findAgain(
  moved: readonly LogFile[],
  options: ReplayLogsOptions,
): Promise<readonly LogFile[]> {
  const { found } = await findFiles(options);
  const paths = new Map(found.map(({ id, path }) => [id, path]));
  return moved.map((file) => ({
    ...file,
    path: paths.get(file.id) ?? file.path,
  }));
}

/** Counts the requests in one file. Returns the error when the file was not read to its end, else `undefined`. */
async function replayFile(
  file: LogFile,
  { files, replay, lines, keptFromMs }: Replaying,
): Promise<unknown> {
  const since = new Date(keptFromMs).toISOString();
  try {
    await readLog(files.read(file), {
      counts: lines,
      isWanted: (line) => (fromTime(line) ?? since) >= since,
      onRequest: replay.add,
    });
    return undefined;
  } catch (error) {
    return error ?? new Error("unknown");
  }
}

interface StartReplayOptions {
  readonly liveConfig: LiveConfig;
  /** The paths of logs, with wildcards. */
  readonly patterns: readonly string[];
  readonly log: Log;
  readonly files?: LogFiles;
  readonly clock?: Clock;
  readonly timers?: Timers;
}

/** The longest time that the logs delay the start, in milliseconds. The files left then are read during serving. */
const WAIT_MS = 10_000;

/**
 * Counts the requests of logs.
 *
 * @returns The sums. Resolves when all logs are counted, or after the timeout.
 */
export async function startReplay(
  options: StartReplayOptions,
): Promise<Sums> {
  const { liveConfig, clock = systemClock, timers = systemTimers } = options;
  const sums = createMemorySums(clock);
  const replaying = replayLogs({
    ...options,
    files: options.files ?? LOG_FILES,
    config: liveConfig.current(),
    counting: createCounting(sums),
    completeSince: sums.completeSince,
    untilMs: sums.sinceMs,
  });
  await within(replaying, {
    ms: WAIT_MS,
    start: timers.schedule,
    onLate: () => {},
  });
  return sums;
}
