import type { QuotaWindow } from "@gateway/page/answers";
import { saneWaitMs } from "@gateway/base/retry_after";
import type { TimeSpan } from "@gateway/base/time/calendar";
import { amounts, type KnownAmounts, percentAmounts } from "./amounts.ts";
import { lengthOfPeriod, type Period } from "./period.ts";

/** The types of windows that this gateway names. Providers name further types. */
export const QUOTA_TYPES = {
  /** Model usage of a plan, reported as a share of the whole. */
  usage: "USAGE_LIMIT",
  credits: "CREDIT_LIMIT",
  tokens: "TOKENS_LIMIT",
  requests: "REQUESTS_LIMIT",
  /** A budget of money. */
  spend: "SPEND_LIMIT",
  /** Money or credits that are bought in advance. Only the rest is known, not the size. */
  balance: "BALANCE",
  /** Calls of a plan's tools. These tools use no model. Callers know this word from Z.ai. */
  toolCalls: "TIME_LIMIT",
} as const;

const MAX_SCOPE_LENGTH = 64;

/**
 * Returns the `type` for one part of a limit, such as `USAGE_LIMIT:opus`.
 *
 * @param scope The provider's word for the part. It is reduced to lower-case letters, digits, dots, hyphens and
 * underscores. When nothing remains, the limit covers everything.
 */
export function scopedType(type: string, scope: string): string {
  const slug = scope.slice(0, MAX_SCOPE_LENGTH).toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "_").replace(/^_+|_+$/g, "");
  return slug === "" ? type : `${type}:${slug}`;
}

/** The parts of a window, with the numbers that the provider reports. */
interface WindowParts extends KnownAmounts {
  readonly type: string;
  /** The part that the type limits, see {@linkcode scopedType}. */
  readonly scope?: string | undefined;
  readonly unit: string;
  readonly period: Period;
  /** ISO 8601 in UTC. Absent or null when the provider reports no reset. */
  readonly resetsAt?: string | null;
}

/**
 * Returns a window with its fields in the order of docs/quotas.md. {@linkcode amounts} completes the numbers. A window
 * in percent without counts has the size 100.
 */
export function quotaWindow(
  { type, scope = "", unit, period, resetsAt = null, ...known }: WindowParts,
): QuotaWindow {
  const hasCounts = [known.limit, known.used, known.remaining]
    .some((count) => typeof count === "number");
  const { limit, used, remaining, usedPercent } =
    unit === "percent" && !hasCounts
      ? percentAmounts(amounts(known).usedPercent)
      : amounts(known);
  return {
    type: scopedType(type, scope),
    window: period.name,
    unit,
    period_unit: period.unit,
    period_count: period.count,
    limit,
    used,
    remaining,
    used_percent: usedPercent,
    resets_at: resetsAt,
  };
}

/**
 * Returns the windows of these parts. If `isStopped` is true, the provider reports that some window stops requests, but
 * not which window. The window with the greatest share used then counts as exhausted.
 */
export function quotaWindows(
  parts: readonly WindowParts[],
  isStopped = false,
): QuotaWindow[] {
  const shares = parts.map((one) =>
    one.isStopped ? 100 : one.usedPercent ?? -1
  );
  const fullest = isStopped ? shares.indexOf(Math.max(...shares)) : -1;
  return parts.map((one, index) =>
    quotaWindow(index === fullest ? { ...one, isStopped } : one)
  );
}

/** Returns true when a window limits the use of models, not only of a plan's tools. */
export function limitsModels({ type }: Pick<QuotaWindow, "type">): boolean {
  return type !== QUOTA_TYPES.toolCalls;
}

/** Returns true when a window limits the use of every model, not only of some models or a feature. */
export function limitsEveryModel(window: Pick<QuotaWindow, "type">): boolean {
  return limitsModels(window) && !window.type.includes(":");
}

/** Returns a key that is unique among the windows of one connection. */
export function windowKey({ type, window }: QuotaWindow): string {
  return `${type} ${window}`;
}

/** Returns one window for each type and length: the window with the greatest share used. It stops requests first. */
export function strictest(windows: readonly QuotaWindow[]): QuotaWindow[] {
  const found = new Map<string, QuotaWindow>();
  const share = (one: QuotaWindow) =>
    one.used_percent ?? (isExhausted(one) ? 100 : -Infinity);
  for (const one of windows) {
    const most = found.get(windowKey(one));
    if (most === undefined || share(one) > share(most)) {
      found.set(windowKey(one), one);
    }
  }
  return [...found.values()];
}

/** Returns true when the provider reports that nothing of a window is left. */
export function isExhausted({ used_percent, remaining }: QuotaWindow): boolean {
  return used_percent === null
    ? remaining !== null && remaining <= 0
    : used_percent >= 100;
}

/**
 * Returns true when requests have room. This is the case when the plan has windows with known numbers and no such
 * window is exhausted. It is also the case when a balance is left to pay for use beyond the plan.
 */
export function hasRoom(windows: readonly QuotaWindow[]): boolean {
  const reported = windows.filter((one) =>
    limitsModels(one) && (one.used_percent ?? one.remaining) !== null
  );
  const isBalance = ({ type }: QuotaWindow) => type === QUOTA_TYPES.balance;
  const limits = reported.filter((one) => !isBalance(one));
  return limits.length > 0 && !limits.some(isExhausted) ||
    reported.some((one) => isBalance(one) && !isExhausted(one));
}

/**
 * If credits, a budget for extra usage or a balance pay for requests, returns 0. Otherwise returns {@linkcode
 * exhaustedMs}.
 */
export function usedUpMs(
  windows: readonly QuotaWindow[],
  nowMs: number,
): number {
  const isUsedUp = ({ type }: QuotaWindow) =>
    windows.some((one) => one.type === type && isExhausted(one));
  const pays = (one: QuotaWindow) =>
    /^(?:BALANCE|SPEND_LIMIT|CREDIT_LIMIT)\b/.test(one.type) &&
    !isUsedUp(one) && hasRoom([one]);
  return windows.some(pays) ? 0 : exhaustedMs(windows, nowMs);
}

/**
 * Returns the milliseconds until all exhausted windows that limit every model have reset. Windows of single models or
 * features do not count, because a request may not use that model or feature.
 */
export function exhaustedMs(
  windows: readonly QuotaWindow[],
  nowMs: number,
): number {
  const shared = windows.filter(limitsEveryModel);
  return longestRestMs(shared.filter(isExhausted), nowMs);
}

/**
 * Returns the milliseconds until all of the given windows have reset. Returns 0 if no window has a plausible reset
 * time.
 */
export function longestRestMs(
  windows: readonly QuotaWindow[],
  nowMs: number,
): number {
  const restMs = ({ resets_at }: QuotaWindow) =>
    saneWaitMs(Date.parse(resets_at ?? "") - nowMs) ?? 0;
  return Math.max(0, ...windows.map(restMs));
}

/**
 * Returns the start and the reset of a window. The start is the reset time minus the length.
 *
 * @returns `undefined` when the provider does not report both.
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

/** Returns the same day a number of months earlier, or the last day of a shorter month. */
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
