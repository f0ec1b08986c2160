import {
  type EventFields,
  levelOf,
  type LogEvent,
  type LogLevel,
} from "./log_events.ts";

/** Takes what the program has to say. */
export interface Log {
  /**
   * Writes one line, whose level the table of events knows.
   *
   * @param fields Never a prompt, an answer or a secret; values that are `undefined` are left out.
   */
  write<Event extends LogEvent>(event: Event, fields: EventFields<Event>): void;
}

/** How {@linkcode createLog} spells a line. */
export type LogFormat = "json" | "text";

/** Where a log gets its time and leaves its lines. */
interface LogOptions {
  readonly format: LogFormat;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Takes one line with its line feed. */
  readonly sink: (line: string) => void;
}

/** A log of one JSON object a line, or of lines for people (docs/observing.md). */
export function createLog({ format, now, sink }: LogOptions): Log {
  const spell = format === "json" ? jsonLine : textLine;
  const timeText = createTimeText();
  return {
    write(event, fields) {
      const level = levelOf(event, fields);
      sink(spell({ time: timeText(now()), level, event }, fields));
    },
  };
}

/**
 * Spells moments as ISO 8601 in UTC, from milliseconds since 1970; making a date takes longer than all else of a line.
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

/** What every line begins with. */
interface LineHead {
  readonly time: string;
  readonly level: LogLevel;
  readonly event: LogEvent;
}

/** What a line begins with is the program's own words, in which JSON has nothing to escape. */
function jsonLine({ time, level, event }: LineHead, fields: object): string {
  const head = `{"time":"${time}","level":"${level}","event":"${event}"`;
  const rest = oneLine(fields);
  return rest === "{}" ? `${head}}\n` : `${head},${rest.slice(1)}\n`;
}

/** Values that are not plain are JSON. */
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

/** JSON that stays one line, and commands no terminal, whatever it holds. */
export function oneLine(value: unknown): string {
  return JSON.stringify(value).replace(
    UNESCAPED_REGEXP,
    (character) =>
      `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** What JSON leaves as it is, though some take it for a line's end or a control sequence. */
const UNESCAPED_REGEXP = /[\u007f-\u009f\u2028\u2029]/g;
