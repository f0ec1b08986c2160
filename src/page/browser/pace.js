/**
 * The elapsed time of a window, to compare with the window's usage.
 *
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 *
 * @typedef {Pick<QuotaWindow, "window" | "period_count" | "resets_at"> & {
 *   readonly starts_at?: string | null,
 * }} TimedWindow `starts_at` is known only for the gateway's own limits.
 */

const MINUTE_MS = 60_000;

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

/** The length of each period and of each unit that is always equally long. */
const LENGTHS_MS = new Map([
  ["minute", MINUTE_MS],
  ["hour", HOUR_MS],
  ["hourly", HOUR_MS],
  ["day", DAY_MS],
  ["daily", DAY_MS],
  ["week", WEEK_MS],
  ["weekly", WEEK_MS],
]);

/** The lengths, in months, of the periods and units that are not always equally long. */
const MONTHS = new Map([
  ["month", 1],
  ["monthly", 1],
  ["year", 12],
  ["yearly", 12],
]);

/**
 * Returns the share of a window's time that has passed.
 *
 * @param {TimedWindow} window
 * @param {number} nowMs Milliseconds since 1970.
 * @returns {number | null} 0 to 1. Null when the reset is unknown, or when both the start and the length are unknown.
 */
export function elapsedShare(window, nowMs) {
  const endMs = Date.parse(window.resets_at ?? "");
  const namedMs = Date.parse(window.starts_at ?? "");
  const startMs = Number.isNaN(namedMs) ? startOf(window, endMs) : namedMs;
  const share = (nowMs - startMs) / (endMs - startMs);
  return share >= 0 && share <= 1 ? share : null;
}

/**
 * @param {TimedWindow} window
 * @param {number} endMs Milliseconds since 1970.
 * @returns {number} NaN when the length is unknown.
 */
function startOf({ window, period_count: count }, endMs) {
  const isSingle = LENGTHS_MS.has(window) || MONTHS.has(window);
  const unit = isSingle ? window : window.match(/_([a-z]+)$/)?.[1] ?? "";
  const units = isSingle ? 1 : count ?? 0;
  if (units <= 0) return NaN;
  const months = MONTHS.get(unit);
  return months === undefined
    ? endMs - units * (LENGTHS_MS.get(unit) ?? NaN)
    : monthsBefore(endMs, units * months);
}

/**
 * Returns the same day and time in UTC a number of months earlier. If that month has no such day, returns its last day.
 *
 * @param {number} atMs @param {number} months @returns {number} Milliseconds since 1970.
 */
function monthsBefore(atMs, months) {
  const date = new Date(atMs);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() - months, 1);
  const lastDay = new Date(
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0),
  ).getUTCDate();
  return date.setUTCDate(Math.min(day, lastDay));
}
