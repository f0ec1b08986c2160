import { oneLine } from "@gateway/base/json";
import { memoized } from "@gateway/base/memo";
import type { EventFields, LogEvent, LogLevel } from "./log_events.ts";

/** The colours of a line. */
type Colour = "dim" | "green" | "red" | "yellow";

/** Adds a colour to a text, or returns it unchanged. */
export type PaintLine = (colour: Colour, text: string) => string;

/** The beginning of every line. */
export interface LineHead {
  /** ISO 8601 in UTC. */
  readonly time: string;
  readonly level: LogLevel;
  readonly event: LogEvent;
}

/**
 * Formats a line for people. The line of a request has columns of fixed widths with two spaces between the columns. A
 * value that is longer than its column is not cut but moves the next columns. A value with two spaces in sequence is
 * quoted and cannot imitate a column.
 */
export function textLine(
  { time, level, event }: LineHead,
  fields: object,
  paint: PaintLine,
): string {
  const { date, seconds } = TIME_REGEXP.exec(time)?.groups ?? {};
  const parts = [
    paint("dim", `${date} ${seconds}Z`),
    paintLevel(level, level.padEnd(LEVEL_WIDTH), paint),
    ...(isRequest(event, fields)
      ? requestColumns(fields, level, paint)
      : [event, ...pairs(fields)]),
  ];
  return `${parts.filter((part) => part !== "").join("  ").trimEnd()}\n`;
}

const TIME_REGEXP = /^(?<date>[^T]*)T(?<seconds>[^.]*)/;

const LEVEL_WIDTH = 5;

function isRequest(
  event: LogEvent,
  _fields: object,
): _fields is EventFields<"request"> {
  return event === "request";
}

function paintLevel(level: LogLevel, text: string, paint: PaintLine): string {
  if (level === "info") return text;
  return paint(level === "error" ? "red" : "yellow", text);
}

function requestColumns(
  fields: EventFields<"request">,
  level: LogLevel,
  paint: PaintLine,
): readonly string[] {
  const { status, method, route, token, connection, request_id } = fields;
  const { model, served_model: served } = fields;
  const models = served === undefined
    ? plain(model)
    : `${plain(model)} → ${plain(served)}`;
  return [
    paint(statusColour(status), String(status ?? "-").padEnd(3)),
    durationText(fields.total_ms).padStart(7),
    plain(token).padEnd(12),
    models.padEnd(24),
    plain(connection).padEnd(16),
    `${plain(method)} ${plain(route)}`.padEnd(25),
    tokensText(fields).padEnd(20),
    paintLevel(level, notes(fields).join("  "), paint),
    paint("dim", plain(request_id)),
  ];
}

function statusColour(status = 0): Colour {
  if (status >= 500 || status === 0) return "red";
  return status >= 400 ? "yellow" : "green";
}

function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 100_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.round(ms / 1000)} s`;
}

/** Returns the token counts of a request, after `~` if a part is estimated. Returns `-` if no count is known. */
function tokensText({ usage }: EventFields<"request">): string {
  const { input_tokens: input, output_tokens: output } = usage ?? {};
  if (input === undefined && output === undefined) return "-";
  const mark = usage?.estimated === true ? "~" : "";
  return `${mark}${input ?? 0} in, ${output ?? 0} out`;
}

/** Returns the cost of a request and everything unusual about it. */
function notes(fields: EventFields<"request">): readonly string[] {
  const { cost_usd: cost, attempts = [], ended, dropped = [] } = fields;
  const problems = [fields.failure, fields.error, fields.limit, fields.reason]
    .filter((word) => word !== undefined);
  const isNamed = ended === "error" && problems.length > 0;
  return [
    ...(cost === undefined ? [] : [`$${costFormat("en").format(cost)}`]),
    ...(attempts.length > 1 ? [`${attempts.length} attempts`] : []),
    ...(dropped.length === 0
      ? []
      : [`dropped ${dropped.map(plain).join(" ")}`]),
    ...(ended === "complete" || isNamed ? [] : [ended]),
    ...problems.map(plain),
  ];
}

/**
 * The format of costs. It is created only for the first cost, because creating it takes longer than writing many lines.
 */
const costFormat = memoized((language) =>
  new Intl.NumberFormat(language, {
    maximumSignificantDigits: 3,
    useGrouping: false,
  }), 1);

/** Returns the fields of an event other than `request` as `name=value`. A value with spaces is JSON. */
function pairs(fields: object): readonly string[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      typeof value === "string" && WORD_REGEXP.test(value)
        ? `${name}=${value}`
        : `${name}=${oneLine(value)}`
    );
}

const WORD_REGEXP = /^[\w./:@+-]+$/;

/**
 * Returns a text unchanged if it consists of words with one space between two words. Otherwise returns the text as
 * JSON. Returns `-` if there is no text.
 */
function plain(text: string | undefined): string {
  if (text === undefined) return "-";
  return WORDS_REGEXP.test(text) ? text : oneLine(text);
}

const WORDS_REGEXP =
  /^[^\s\p{C}"\u2028\u2029]+(?: [^\s\p{C}"\u2028\u2029]+)*$/u;
