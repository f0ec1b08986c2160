import type { Log } from "../../../src/gateway/observe/log.ts";
import {
  levelOf,
  type LogLevel,
} from "../../../src/gateway/observe/log_events.ts";

/** One line of a log, before it is formatted. */
export interface LogEntry {
  readonly level: LogLevel;
  readonly event: string;
  /** The fields with a value. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log whose lines a test can read. */
export interface MemoryLog extends Log {
  readonly entries: readonly LogEntry[];
}

/** Creates an empty {@linkcode MemoryLog}. */
export function createMemoryLog(): MemoryLog {
  const entries: LogEntry[] = [];
  return {
    entries,
    write(event, fields) {
      const level = levelOf(event, fields);
      const present = Object.entries(fields)
        .filter(([, value]) => value !== undefined);
      entries.push({ level, event, fields: Object.fromEntries(present) });
    },
  };
}
