import type { ConnectionEntry, QuotaList } from "@gateway/page/answers";
import type { QuotaWindow } from "@gateway/page/answers";

/** 2026-11-20T12:00:00Z, the time of these lists. */
export const NOON_MS = Date.UTC(2026, 10, 20, 12);

/**
 * Returns a window of 10,000 credits a week, a quarter used, that resets in a day; `parts` override
 * it.
 */
export function weekOf(parts: Partial<QuotaWindow> = {}): QuotaWindow {
  return {
    type: "CREDIT_LIMIT",
    window: "weekly",
    unit: "credits",
    period_unit: 6,
    period_count: 1,
    limit: 10_000,
    used: 2_500,
    remaining: 7_500,
    used_percent: 25,
    resets_at: "2026-11-21T12:00:00.000Z",
    ...parts,
  };
}

/** Returns a window with a known share only, in percent. */
export function shareOf(
  usedPercent: number,
  parts: Partial<QuotaWindow> = {},
): QuotaWindow {
  return weekOf({
    type: "USAGE_LIMIT",
    unit: "percent",
    limit: 100,
    used: usedPercent,
    remaining: Math.max(0, 100 - usedPercent),
    used_percent: usedPercent,
    ...parts,
  });
}

/** Returns a window with a known kind only. */
export function unknownWindow(parts: Partial<QuotaWindow> = {}): QuotaWindow {
  return weekOf({
    limit: null,
    used: null,
    remaining: null,
    used_percent: null,
    resets_at: null,
    ...parts,
  });
}

/** Returns a balance of money. */
export function balanceOf(remaining: number, unit: string): QuotaWindow {
  return unknownWindow({
    type: "BALANCE",
    window: "total",
    unit,
    period_unit: null,
    period_count: null,
    remaining,
  });
}

/** Returns a connection called `name`, checked 12 s before noon; `parts` override it. */
export function entryOf(
  name: string,
  parts: Partial<ConnectionEntry> = {},
): ConnectionEntry {
  return {
    provider_id: "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11",
    name,
    service: "zai",
    status: "ok",
    checked_at: "2026-11-20T11:59:48.000Z",
    cached: false,
    limits: [],
    ...parts,
  };
}

/** Returns a list that clients may read again after a minute. */
export function listOf(...data: readonly ConnectionEntry[]): QuotaList {
  return { object: "list", scope: "provider", refresh_after_seconds: 60, data };
}

/** Returns a list with one connection of every state, and with windows of every level. */
export function everyState(): QuotaList {
  return listOf(
    entryOf("GLM team", {
      cached: true,
      limits: [
        weekOf({
          window: "five_hour",
          period_unit: 3,
          period_count: 5,
          limit: 2000,
          used: 1322,
          remaining: 677,
          used_percent: 66.1,
          resets_at: "2026-11-20T14:41:00.000Z",
        }),
        weekOf({ used: 10_010, remaining: 0, used_percent: 100.1 }),
      ],
    }),
    entryOf("Claude Max", {
      service: "anthropic",
      limits: [
        shareOf(81.4),
        shareOf(93),
        shareOf(100, { type: "USAGE_LIMIT:opus" }),
      ],
    }),
    entryOf("DeepSeek", {
      service: "deepseek",
      limits: [balanceOf(110.5, "CNY"), balanceOf(0, "USD")],
    }),
    entryOf("Strangers", {
      service: "openai",
      checked_at: "2026-11-20T09:00:00.000Z",
      limits: [
        unknownWindow({
          type: "REQUESTS_LIMIT",
          window: "unknown",
          unit: "requests",
          limit: 500,
        }),
      ],
    }),
    entryOf("OpenRouter", {
      service: "openrouter",
      status: "unavailable",
      error: {
        type: "provider_limits_unauthorized",
        message: "The provider refuses the connection's key",
      },
    }),
    entryOf("Old account", { service: "kimi", status: "disabled" }),
    entryOf("Local models", { service: "custom", status: "unsupported" }),
  );
}
