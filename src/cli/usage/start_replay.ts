import type { ConfigStore } from "../../config/store.ts";
import { type Clock, systemClock } from "../../core/time/clock.ts";
import { systemTimers, type Timers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import { createBounds } from "../../usage/bounds.ts";
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

/** Logs that are being counted. */
export interface StartedReplay {
  /** What is counted in, for whoever serves. */
  readonly sums: Sums;
  /** Resolves to when everything is counted from, in milliseconds since 1970; never rejects. */
  readonly counted: Promise<number>;
}

/** How long a start waits for the logs, in milliseconds; the rest is read while requests are served. */
const WAIT_MS = 10_000;

/** Counts what logs say that was used before; resolves when that is done, or has taken so long that serving begins. */
export async function startReplay(
  options: StartReplayOptions,
): Promise<StartedReplay> {
  const { store, clock = systemClock, timers = systemTimers } = options;
  const sums = createMemorySums(clock);
  const bounds = createBounds({ sums, store, clock });
  const counting = createCounting({ sums, bounds, clock });
  const replaying = replayLogs({
    ...options,
    files: options.files ?? LOG_FILES,
    config: store.current(),
    counting,
    untilMs: counting.sinceMs,
  });
  const late = Promise.withResolvers<void>();
  const stopTimer = timers.ring(WAIT_MS, late.resolve);
  await Promise.race([replaying, late.promise]);
  stopTimer();
  return { sums, counted: replaying.then(() => counting.sinceMs) };
}
