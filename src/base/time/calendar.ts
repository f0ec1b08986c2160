/** The calendar windows, in UTC, the shortest first. */
export const CALENDAR_WINDOWS = [
  "minute",
  "hour",
  "day",
  "week",
  "month",
] as const;

/** One of {@linkcode CALENDAR_WINDOWS}. */
export type CalendarWindow = typeof CALENDAR_WINDOWS[number];

/** A span of time in milliseconds since 1970, without its end. */
export interface TimeSpan {
  readonly startMs: number;
  readonly endMs: number;
}

const MS_BY_WINDOW = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
} as const;

/** 1970 began on a Thursday; the first Monday was 5 January. */
const FIRST_MONDAY_MS = 4 * MS_BY_WINDOW.day;

/**
 * Returns the window that contains a moment. UTC has no summer time, a week begins on Monday (ISO 8601), and the length
 * of a month varies.
 *
 * @param atMs Milliseconds since 1970.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const newYearsEve = Date.UTC(2026, 11, 31, 23, 59);
 * const { startMs, endMs } = calendarSpan("week", newYearsEve);
 * assert.equal(new Date(startMs).toISOString(), "2026-12-28T00:00:00.000Z");
 * assert.equal(new Date(endMs).toISOString(), "2027-01-04T00:00:00.000Z");
 * ```
 */
export function calendarSpan(window: CalendarWindow, atMs: number): TimeSpan {
  if (window === "month") return monthOf(new Date(atMs));
  const lengthMs = MS_BY_WINDOW[window];
  const originMs = window === "week" ? FIRST_MONDAY_MS : 0;
  const startMs = atMs - modulo(atMs - originMs, lengthMs);
  return { startMs, endMs: startMs + lengthMs };
}

function monthOf(date: Date): TimeSpan {
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
}

/** Returns a remainder that is never negative; `%` is negative before 1970. */
function modulo(value: number, length: number): number {
  return ((value % length) + length) % length;
}

/**
 * Returns the next midnight in a zone such as `Asia/Shanghai`, in milliseconds since 1970. If clocks change before that
 * midnight, the result is an hour off.
 */
export function midnightMs(timeZone: string, nowMs: number): number {
  const text = new Intl.DateTimeFormat("en-GB", {
    ...{ timeZone, hourCycle: "h23", timeStyle: "medium" },
  }).format(nowMs);
  const [hour = 0, minute = 0, second = 0] = text.split(":").map(Number);
  const passedMs = 1000 * (3600 * hour + 60 * minute + second);
  return nowMs - modulo(nowMs, 1000) - passedMs + MS_BY_WINDOW.day;
}
