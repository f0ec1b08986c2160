import { within } from "@gateway/base/time/deadlines";
import { systemTimers, type Timers } from "@gateway/base/time/timers";
import { createLog, type Log, type LogFormat } from "../../observe/log.ts";
import { hasColours, inColour, withoutColour } from "@gateway/base/text";
import { reasonOf } from "@gateway/base/write_whole";

/** A log that gathers lines and writes them together. */
interface OpenLog {
  readonly log: Log;
  readonly writer: LineWriter;
}

/** The format of the log on an output: lines for people may have colours. */
export type LogOutputFormat = LogFormat | "coloured_text";

/**
 * Returns the format for an output: lines for people have colours on a terminal, unless `NO_COLOR` is set.
 *
 * @param isTerminal True if the output is a terminal.
 */
export function outputFormat(
  format: LogFormat,
  isTerminal: boolean,
  env: (name: string) => string | undefined,
): LogOutputFormat {
  return format === "text" && hasColours(isTerminal, env)
    ? "coloured_text"
    : format;
}

/**
 * Opens the program's log over a sink.
 *
 * @param writeError Receives a line when a write fails, as on a full disk. Receives no further line until a write has
 * succeeded.
 */
export function openLog(
  sink: ByteSink,
  output: LogOutputFormat,
  writeError: (line: string) => void = () => {},
): OpenLog {
  const now = Date.now;
  const format = output === "json" ? "json" : "text";
  const paint = output === "coloured_text" ? inColour : withoutColour;
  const writer = createLineWriter(sink, {
    onFailure: (reason) =>
      writeError(
        `Cannot write the log: ${reason}. The gateway keeps serving, and counts the lost lines.\n`,
      ),
    droppedLine(count) {
      let line = "";
      createLog({ format, now, paint, sink: (text) => void (line = text) })
        .write("log_lines_dropped", { count });
      return line;
    },
  });
  return { log: createLog({ format, now, paint, sink: writer.write }), writer };
}

/** The destination of the lines, such as `Deno.stdout`. */
interface ByteSink {
  /** Writes some of the bytes and resolves to their count. */
  write(bytes: Uint8Array): Promise<number>;
}

/** Accepts lines at once and writes them later. */
interface LineWriter {
  /** Accepts one line with its line feed. */
  readonly write: (line: string) => void;
  /** Resolves when all accepted lines are written, or after a timeout of some seconds. */
  flush(): Promise<void>;
}

/** The timing and the bounds of a {@linkcode LineWriter}. */
interface LineWriterOptions {
  /** The longest time that a line waits for other lines, in milliseconds. */
  readonly delayMs?: number;
  /** The most characters that may wait while the reader is stuck. Further lines are dropped and counted. */
  readonly maxWaitingCharacters?: number;
  /** The timeout of a flush, in milliseconds: a stuck reader must not keep the program from ending. */
  readonly flushMs?: number;
  readonly timers?: Timers;
  /** Returns the line, with its line feed, that reports the count of dropped lines. */
  readonly droppedLine: (count: number) => string;
  /** Called with the reason when a write fails, and not again until a write has succeeded. */
  readonly onFailure?: (reason: string) => void;
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
  /** The number of lines whose write failed. The next write reports this number. */
  let lost = 0;
  let isFailing = false;
  let stopTimer: (() => void) | undefined;
  let writing: Promise<void> | undefined;

  function hasMore(): boolean {
    return waiting !== "" || dropped > 0;
  }

  async function writeOut(): Promise<void> {
    while (hasMore()) {
      const count = dropped + lost;
      // The failed write may have ended within a line, so this write begins a new line.
      const text = (isFailing ? "\n" : "") + waiting +
        (count > 0 ? options.droppedLine(count) : "");
      const lines = waiting.split("\n").length - 1;
      [waiting, dropped, lost] = ["", 0, count + lines];
      await writeAll(sink, encoder.encode(text));
      [isFailing, lost] = [false, 0];
    }
  }

  function noteFailure(error: unknown): void {
    if (!isFailing) options.onFailure?.(reasonOf(error));
    isFailing = true;
  }

  function start(): Promise<void> {
    stopTimer?.();
    stopTimer = undefined;
    writing ??= writeOut()
      .catch(noteFailure)
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
    if (count === 0) {
      throw new Error(
        "the output accepts no more bytes",
      );
    }
    written += count;
  }
}
