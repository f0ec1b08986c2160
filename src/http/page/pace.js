/**
 * The elapsed time of a window, to compare with its usage.
 *
 * @typedef {import("../../quotas/window.ts").QuotaWindow} QuotaWindow
 */

const MINUTE_MS = 60_000;

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

/** The lengths of windows of one unit, and of the units of longer ones. All are constant. */
const LENGTHS_MS = new Map([
  ["minute", MINUTE_MS],
  ["hour", HOUR_MS],
  ["hourly", HOUR_MS],
  ["day", DAY_MS],
  ["daily", DAY_MS],
  ["week", WEEK_MS],
  ["weekly", WEEK_MS],
]);

/**
 * Returns the share of a window's time that has passed.
 *
 * @param {Pick<QuotaWindow, "window" | "period_count" | "resets_at">} window
 * @param {number} nowMs Milliseconds since 1970.
 * @returns {number | null} 0 to 1. Null when the length or the reset is unknown, and for months and years, whose
 * lengths differ.
 */
export function elapsedShare(window, nowMs) {
  const lengthMs = lengthOf(window);
  const resetsAtMs = window.resets_at === null
    ? NaN
    : Date.parse(window.resets_at);
  if (lengthMs === null || Number.isNaN(resetsAtMs)) return null;
  const share = 1 - (resetsAtMs - nowMs) / lengthMs;
  return share >= 0 && share <= 1 ? share : null;
}

/**
 * @param {Pick<QuotaWindow, "window" | "period_count">} window
 * @returns {number | null} Milliseconds.
 */
function lengthOf({ window, period_count: count }) {
  const single = LENGTHS_MS.get(window);
  if (single !== undefined) return single;
  const unitMs = LENGTHS_MS.get(window.match(/_([a-z]+)$/)?.[1] ?? "");
  return unitMs === undefined || count === null || count <= 0
    ? null
    : count * unitMs;
}
