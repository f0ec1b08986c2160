import type { TimeSpan } from "../core/time/calendar.ts";
import type { Amounts } from "./amounts.ts";
import { lengthOfPeriod, type Period } from "./period.ts";

/**
 * One quota window as callers see it (docs/quotas.md#fields-of-a-window), the same for every service:
 *
 * - `type`: what is limited, one of {@linkcode QUOTA_TYPES}, and behind a colon what part of it, in the
 *   provider's own word: `USAGE_LIMIT:opus`, `TOKENS_LIMIT:input`. A type that the provider names itself
 *   stays as it is.
 * - `window`: the length in words, see `period.ts`.
 * - `unit`: `credits`, `tokens`, `requests`, `percent`, `fraction`, an ISO 4217 code such as `USD`,
 *   `currency` (money whose currency the provider does not say), `quota` (a gateway's own unit) or
 *   `unknown`.
 *
 * What the provider does not tell and arithmetic does not give is null.
 */
export interface QuotaWindow {
  readonly type: string;
  readonly window: string;
  readonly unit: string;
  readonly period_unit: number | null;
  readonly period_count: number | null;
  /** Size in `unit`; in `percent` 100 and in `fraction` 1, by definition. */
  readonly limit: number | null;
  readonly used: number | null;
  readonly remaining: number | null;
  /** Above 100 on overuse. */
  readonly used_percent: number | null;
  /** ISO 8601 in UTC. */
  readonly resets_at: string | null;
}

/** The kinds of quota this gateway names, beside those that a provider names itself. */
export const QUOTA_TYPES = {
  /** Model usage of a plan, told as a share of the whole. */
  usage: "USAGE_LIMIT",
  credits: "CREDIT_LIMIT",
  tokens: "TOKENS_LIMIT",
  requests: "REQUESTS_LIMIT",
  /** A budget of money. */
  spend: "SPEND_LIMIT",
  /** Money or credits in stock: there is no size, only what is left. */
  balance: "BALANCE",
  /** Calls of a plan's tools, no use of a model; the word is Z.ai's, which callers know. */
  toolCalls: "TIME_LIMIT",
} as const;

const MAX_SCOPE_LENGTH = 64;

/**
 * A `type` for one part of a limit, such as `USAGE_LIMIT:opus`.
 *
 * @param scope The provider's word for the part; it is brought to lower-case letters, digits, dots,
 * hyphens and underscores. The limit covers everything when nothing of it is left.
 */
export function scopedType(type: string, scope: string): string {
  const slug = scope.slice(0, MAX_SCOPE_LENGTH).toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "_").replace(/^_+|_+$/g, "");
  return slug === "" ? type : `${type}:${slug}`;
}

/** What a window is made of. */
export interface WindowParts {
  readonly type: string;
  readonly unit: string;
  readonly period: Period;
  readonly amounts: Amounts;
  /** ISO 8601 in UTC. */
  readonly resetsAt: string | null;
}

/** Writes a window with its fields in the order that docs/quotas.md shows. */
export function quotaWindow(parts: WindowParts): QuotaWindow {
  return {
    type: parts.type,
    window: parts.period.name,
    unit: parts.unit,
    period_unit: parts.period.unit,
    period_count: parts.period.count,
    limit: parts.amounts.limit,
    used: parts.amounts.used,
    remaining: parts.amounts.remaining,
    used_percent: parts.amounts.usedPercent,
    resets_at: parts.resetsAt,
  };
}

/** Whether a window limits the use of models, and not only that of a plan's tools. */
export function limitsModels({ type }: Pick<QuotaWindow, "type">): boolean {
  return type !== QUOTA_TYPES.toolCalls;
}

/** Tells the windows of one connection apart. */
export function windowKey({ type, window }: QuotaWindow): string {
  return `${type} ${window}`;
}

/** Whether nothing of a window is left, as far as the provider tells. */
export function isExhausted({ used_percent, remaining }: QuotaWindow): boolean {
  return used_percent === null ? remaining === 0 : used_percent >= 100;
}

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
