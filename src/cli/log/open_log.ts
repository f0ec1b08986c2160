import { within } from "../../core/time/deadlines.ts";
import { systemTimers, type Timers } from "../../core/time/timers.ts";
import { createLog, type Log, type LogFormat } from "../../observe/log.ts";

/** A log whose lines are gathered and written together. */
interface OpenLog {
  readonly log: Log;
  readonly writer: LineWriter;
}

/** Opens the program's log over a sink. */
export function openLog(sink: ByteSink, format: LogFormat): OpenLog {
  const now = Date.now;
  const writer = createLineWriter(sink, {
    droppedLine(count) {
      let line = "";
      createLog({ format, now, sink: (text) => void (line = text) })
        .write("log_lines_dropped", { count });
      return line;
    },
  });
  return { log: createLog({ format, now, sink: writer.write }), writer };
}

/** Where lines go in the end, such as `Deno.stdout`. */
interface ByteSink {
  /** Writes some of the bytes and resolves to how many. */
  write(bytes: Uint8Array): Promise<number>;
}

/** Writes lines without making their writers wait. */
interface LineWriter {
  /** Takes one line with its line feed. */
  readonly write: (line: string) => void;
  /** Resolves when everything taken so far is written, or could not be written for some seconds. */
  flush(): Promise<void>;
}

/** How a {@linkcode LineWriter} trades time for calls. */
export interface LineWriterOptions {
  /** How long a line may wait for others, in milliseconds. */
  readonly delayMs?: number;
  /** How much may wait; what comes on top is dropped and counted, so that a stuck reader costs no memory. */
  readonly maxWaitingCharacters?: number;
  /** How long a flush may take, in milliseconds: a stuck reader must not keep the program from ending. */
  readonly flushMs?: number;
  readonly timers?: Timers;
  /** The line, with its line feed, that says how many were dropped. */
  readonly droppedLine: (count: number) => string;
}

/** Gathers lines for a moment and writes them together. */
export function createLineWriter(
  sink: ByteSink,
  options: LineWriterOptions,
): LineWriter {
  const { delayMs = 20, flushMs = 2000, timers = systemTimers } = options;
  const { maxWaitingCharacters = 8 * 1024 * 1024 } = options;
  const encoder = new TextEncoder();
  let waiting = "";
  let dropped = 0;
  let stopTimer: (() => void) | undefined;
  let writing: Promise<void> | undefined;

  function hasMore(): boolean {
    return waiting !== "" || dropped > 0;
  }

  async function writeOut(): Promise<void> {
    while (hasMore()) {
      const text = waiting + (dropped > 0 ? options.droppedLine(dropped) : "");
      waiting = "";
      dropped = 0;
      await writeAll(sink, encoder.encode(text));
    }
  }

  function start(): Promise<void> {
    stopTimer?.();
    stopTimer = undefined;
    writing ??= writeOut()
      .catch(() => {
        // Whoever read the lines is gone; the gateway serves on without them.
      })
      .finally(() => {
        writing = undefined;
        startSoon();
      });
    return writing;
  }

  function startSoon(): void {
    if (writing !== undefined || !hasMore()) return;
    stopTimer ??= timers.schedule(delayMs, start);
  }

  async function writeRest(): Promise<void> {
    await start();
    if (hasMore()) await start();
  }

  return {
    write(line) {
      if (waiting.length + line.length > maxWaitingCharacters) dropped++;
      else waiting += line;
      startSoon();
    },
    flush: () =>
      within(writeRest(), {
        ms: flushMs,
        start: timers.schedule,
        onLate: () => {},
      }),
  };
}

async function writeAll(sink: ByteSink, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const count = await sink.write(bytes.subarray(written));
    if (count === 0) throw new Error("Cannot write: nothing is taken any more");
    written += count;
  }
}

/** Where bytes go at once, such as `Deno.stdout`. */
interface SyncSink {
  /** Writes some of the bytes and returns how many. */
  writeSync(bytes: Uint8Array): number;
}

/** Writes all of a text; what a reader who has gone would have read is dropped. */
export function writeWhole(sink: SyncSink, text: string): void {
  let rest: Uint8Array = new TextEncoder().encode(text);
  try {
    while (rest.length > 0) rest = rest.subarray(sink.writeSync(rest));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
