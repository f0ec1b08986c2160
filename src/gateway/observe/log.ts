import { oneLine } from "@gateway/base/json";
import { type EventFields, levelOf, type LogEvent } from "./log_events.ts";
import { type LineHead, type PaintLine, textLine } from "./text_line.ts";

/** Writes the events of the program. */
export interface Log {
  /**
   * Writes one line. The event decides the level of the line.
   *
   * @param fields The fields must not contain a prompt, an answer or a secret. Fields whose value is `undefined` are
   * left out.
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
  /** Writes one line. The text of the line ends with a line feed. */
  readonly sink: (line: string) => void;
  /** Colours the lines for people; default: no colours. */
  readonly paint?: PaintLine;
}

/** Creates a log of one JSON object per line, or of lines for people (docs/observing.md). */
export function createLog(
  { format, now, sink, paint = (_colour, text) => text }: LogOptions,
): Log {
  const timeText = createTimeText();
  return {
    write(event, fields) {
      const level = levelOf(event, fields);
      const head = { time: timeText(now()), level, event };
      sink(
        format === "json"
          ? jsonLine(head, fields)
          : textLine(head, fields, paint),
      );
    },
  };
}

/**
 * Creates a formatter of moments as ISO 8601 in UTC, from milliseconds since 1970. The formatter formats each second
 * only once, because formatting a date takes longer than the rest of a line.
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

/** Formats a line as JSON. The time, level and event are words of the program and need no escapes. */
function jsonLine({ time, level, event }: LineHead, fields: object): string {
  const head = `{"time":"${time}","level":"${level}","event":"${event}"`;
  const rest = oneLine(fields);
  return rest === "{}" ? `${head}}\n` : `${head},${rest.slice(1)}\n`;
}
