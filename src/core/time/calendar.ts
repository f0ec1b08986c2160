/** Windows of time that begin when the calendar says, in UTC; the shortest first. */
export const CALENDAR_WINDOWS = [
  "minute",
  "hour",
  "day",
  "week",
  "month",
] as const;

/** A length of time in the calendar. */
export type CalendarWindow = typeof CALENDAR_WINDOWS[number];

/** A stretch of time in milliseconds since 1970; the end does not belong to it. */
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

/** 1970 began on a Thursday; the first Monday was the fifth of January. */
const FIRST_MONDAY_MS = 4 * MS_BY_WINDOW.day;

/**
 * The window that a moment lies in: UTC has no summer time, a week is that of ISO 8601, which begins on Monday, and a
 * month has as many days as the calendar says.
 *
 * @param atMs Milliseconds since 1970.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const sylvester = Date.UTC(2026, 11, 31, 23, 59);
 * const { startMs, endMs } = calendarSpan("week", sylvester);
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

/** Never negative, as `%` is before 1970. */
function modulo(value: number, length: number): number {
  return ((value % length) + length) % length;
}
