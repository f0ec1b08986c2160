import type { TimeSpan } from "../core/time/calendar.ts";
import { lengthOfPeriod } from "./period.ts";
import type { QuotaWindow } from "./window.ts";

/**
 * When a quota window began and when it resets: its reset less its length.
 *
 * @returns `undefined` where the provider does not tell one of the two.
 */
export function windowSpan(
  { resets_at, period_unit, period_count }: QuotaWindow,
): TimeSpan | undefined {
  const length = lengthOfPeriod(period_unit, period_count);
  const endMs = Date.parse(resets_at ?? "");
  if (length === undefined || Number.isNaN(endMs)) return undefined;
  return {
    startMs: monthsBefore(endMs, length.months ?? 0) - (length.ms ?? 0),
    endMs,
  };
}

/** The same day so many months before; the last day of a month that has no such day. */
function monthsBefore(atMs: number, months: number): number {
  if (months === 0) return atMs;
  const date = new Date(atMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months);
  const lastDay = new Date(
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0),
  ).getUTCDate();
  return date.setUTCDate(Math.min(day, lastDay));
}
