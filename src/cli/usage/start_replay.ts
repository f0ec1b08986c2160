import type { ConfigStore } from "../../config/store.ts";
import { type Clock, systemClock } from "../../core/time/clock.ts";
import { systemTimers, type Timers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import { createCounting } from "../../usage/counting.ts";
import { createMemorySums } from "../../usage/memory_sums.ts";
import type { Sums } from "../../usage/sums.ts";
import { LOG_FILES, type LogFiles } from "./log_files.ts";
import { replayLogs } from "./replay_logs.ts";

/** What {@linkcode startReplay} works with. */
export interface StartReplayOptions {
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
  const late = Promise.withResolvers<void>();
  const stopTimer = timers.ring(WAIT_MS, late.resolve);
  await Promise.race([replaying, late.promise]);
  stopTimer();
  return sums;
}
