import {
  type EventFields,
  levelOf,
  type LogEvent,
  type LogLevel,
} from "./log_events.ts";

/** Writes the events of the program. */
export interface Log {
  /**
   * Writes one line; the event decides its level.
   *
   * @param fields Never a prompt, an answer or a secret; fields whose value is `undefined` are left out.
   */
  write<Event extends LogEvent>(event: Event, fields: EventFields<Event>): void;
}

/** The format of a line. */
export type LogFormat = "json" | "text";

/** The clock, format and output of a log. */
interface LogOptions {
  readonly format: LogFormat;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Writes one line, which ends with a line feed. */
  readonly sink: (line: string) => void;
}

/** Creates a log of one JSON object per line, or of lines for people (docs/observing.md). */
export function createLog({ format, now, sink }: LogOptions): Log {
  const formatLine = format === "json" ? jsonLine : textLine;
  const timeText = createTimeText();
  return {
    write(event, fields) {
      const level = levelOf(event, fields);
      sink(formatLine({ time: timeText(now()), level, event }, fields));
    },
  };
}

/**
 * Creates a formatter of moments as ISO 8601 in UTC, from milliseconds since 1970. It formats each second once, because
 * making a date takes longer than the rest of a line.
 */
function createTimeText(): (atMs: number) => string {
  let secondMs = NaN;
  let beginning = "";
  return (atMs) => {
    const restMs = atMs % 1000;
    if (atMs - restMs !== secondMs) {
      secondMs = atMs - restMs;
      beginning = new Date(atMs).toISOString().slice(0, -"000Z".length);
    }
    return `${beginning}${String(restMs).padStart(3, "0")}Z`;
  };
}

/** The beginning of every line. */
interface LineHead {
  readonly time: string;
  readonly level: LogLevel;
  readonly event: LogEvent;
}

/** Formats a line as JSON. Its head has only the program's own words, which need no escapes. */
function jsonLine({ time, level, event }: LineHead, fields: object): string {
  const head = `{"time":"${time}","level":"${level}","event":"${event}"`;
  const rest = oneLine(fields);
  return rest === "{}" ? `${head}}\n` : `${head},${rest.slice(1)}\n`;
}

/** Formats a line as text; values other than plain words are JSON. */
function textLine({ time, level, event }: LineHead, fields: object): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      ` ${name}=${
        typeof value === "string" && PLAIN_REGEXP.test(value)
          ? value
          : oneLine(value)
      }`
    );
  return `${time} ${level} ${event}${pairs.join("")}\n`;
}

const PLAIN_REGEXP = /^[\w./:@+-]+$/;

/** Returns JSON that stays on one line and cannot control a terminal. */
export function oneLine(value: unknown): string {
  return JSON.stringify(value).replace(
    UNESCAPED_REGEXP,
    (character) =>
      `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The characters that JSON does not escape, although some readers take them for line ends or control sequences. */
const UNESCAPED_REGEXP = /[\u007f-\u009f\u2028\u2029]/g;
