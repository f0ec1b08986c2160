import type { Config } from "../../config/config.ts";
import { readFault } from "../../config/environment.ts";
import type { ConfigStore } from "../../config/store.ts";
import { within } from "../../core/time/deadlines.ts";
import {
  type Clock,
  systemClock,
  systemTimers,
  type Timers,
} from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import {
  type LogLineCounts,
  noLines,
  readLog,
} from "../../observe/read_log.ts";
import { type Counting, createCounting } from "../../usage/counting.ts";
import { createMemorySums } from "../../usage/memory_sums.ts";
import { createReplay, type Replay } from "../../usage/replay.ts";
import type { Sums } from "../../usage/sums.ts";
import { LOG_FILES, type LogFile, type LogFiles } from "./log_files.ts";

/** What {@linkcode replayLogs} reads, and where what it finds goes. */
interface ReplayLogsOptions {
  /** Paths with wildcards. */
  readonly patterns: readonly string[];
  readonly config: Pick<Config, "callers">;
  readonly counting: Pick<Counting, "count">;
  /** Takes since when everything is counted, in milliseconds since 1970. */
  readonly completeSince: (sinceMs: number) => void;
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
  replay.flush();
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

/** Why something is not counted. */
interface ReplayFault {
  /** A pattern, or a file. */
  readonly path: string;
  readonly reason: string;
}

/** Finds each file once, however many names it has, and the one that was written last first. */
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
      faults.push({ path: pattern, reason: "finds no file" });
    } catch (error) {
      faults.push({ path: pattern, reason: readFault(error) });
    }
  }
  const found = [...byId.values()]
    .sort((one, other) => other.writtenMs - one.writtenMs);
  return { found, faults };
}

/** What {@linkcode replayAll} counts with. */
interface Replaying extends ReplayLogsOptions {
  readonly replay: Replay;
  readonly lines: LogLineCounts;
  readonly keptFromMs: number;
}

/** So often a file is looked for that was renamed, as a rotation does, before it was read. */
const MAX_SEARCHES = 3;

/** Reads each file once, whatever it is called by then, and returns which could not be read. */
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

/** Those that are nowhere keep the path that they had. */
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

/** @returns Why the file could not be read to its end; `undefined` where it was. */
async function replayFile(
  file: LogFile,
  { files, replay, lines, keptFromMs }: Replaying,
): Promise<unknown> {
  try {
    await readLog(files.read(file), {
      counts: lines,
      isWanted: isSince(new Date(keptFromMs).toISOString()),
      onRequest: replay.add,
    });
    return undefined;
  } catch (error) {
    return error ?? new Error("unknown");
  }
}

const BEGINNING = '{"time":"';

/** Whether a line is of a moment or later, as far as its beginning tells: to parse the others would take long. */
function isSince(time: string): (line: string) => boolean {
  const end = BEGINNING.length + time.length;
  return (line) =>
    !line.startsWith(BEGINNING) || line.slice(BEGINNING.length, end) >= time;
}

/** What {@linkcode startReplay} works with. */
interface StartReplayOptions {
  readonly store: ConfigStore;
  /** Paths with wildcards. */
  readonly patterns: readonly string[];
  readonly log: Log;
  readonly files?: LogFiles;
  readonly clock?: Clock;
  readonly timers?: Timers;
}

/** How long a start waits for the logs, in milliseconds; the rest is read while requests are served. */
const WAIT_MS = 10_000;

/**
 * Counts the requests of logs.
 *
 * @returns The sums, as soon as that is done, or has taken so long that serving begins.
 */
export async function startReplay(
  options: StartReplayOptions,
): Promise<Sums> {
  const { store, clock = systemClock, timers = systemTimers } = options;
  const sums = createMemorySums(clock);
  const replaying = replayLogs({
    ...options,
    files: options.files ?? LOG_FILES,
    config: store.current(),
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
