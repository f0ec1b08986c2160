import { z } from "zod";
import { amounts, tidy } from "../amounts.ts";
import { type Period, period, TOTAL, UNKNOWN_PERIOD } from "../period.ts";
import { QUOTA_TYPES, type QuotaWindow, quotaWindow } from "../window.ts";
import {
  baseUrl,
  bearerHeaders,
  checkPayload,
  numeric,
  quantity,
  text,
} from "./payload.ts";
import type { QuotaReader, QuotaRequest, QuotaSource } from "./reader.ts";

/**
 * OpenRouter: the limit of the connection's own key. When `quota.key` is a management key, also the account's credits,
 * which normal keys may not read.
 */
export const openrouter: QuotaReader = {
  poll: {
    requests,
    parse: ([limits, account]) => [
      keyWindow(checkPayload(keyPayload, limits).data),
      ...(account === undefined ? [] : [creditWindow(account)]),
    ],
  },
};

const keyPayload = z.object({
  data: z.object({
    /** US dollars. Null is no cap. */
    limit: numeric,
    limit_remaining: numeric,
    limit_reset: text,
    /** The usage over the key's whole life, not over the limit's window. */
    usage: quantity,
  }),
});

const creditPayload = z.object({
  data: z.object({ total_credits: quantity, total_usage: quantity }),
});

function requests(source: QuotaSource): QuotaRequest[] {
  const own = { ...source, quota: { ...source.quota, key: undefined } };
  const limits = {
    url: source.quota.url ?? `${baseUrl(source)}/key`,
    headers: bearerHeaders(own),
  };
  if (source.quota.key === undefined) return [limits];
  return [limits, {
    url: new URL("credits", limits.url).href,
    headers: bearerHeaders(source),
  }];
}

function keyWindow(
  { limit, limit_remaining, limit_reset, usage }: z.output<
    typeof keyPayload
  >["data"],
): QuotaWindow {
  const hasCap = typeof limit === "number";
  return quotaWindow({
    type: QUOTA_TYPES.spend,
    unit: "USD",
    period: hasCap ? periodOf(limit_reset) : TOTAL,
    amounts: hasCap
      ? amounts({ limit, remaining: limit_remaining })
      : amounts({ used: usage }),
    // Only the name of the period is reported, no instant.
    resetsAt: null,
  });
}

function periodOf(word: string | null | undefined): Period {
  switch (word) {
    case "daily":
      return period(1, "day");
    case "weekly":
      return period(1, "week");
    case "monthly":
      return period(1, "month");
    case null:
    case undefined:
      return TOTAL;
    default:
      return UNKNOWN_PERIOD;
  }
}

function creditWindow(account: unknown): QuotaWindow {
  const { data } = checkPayload(creditPayload, account);
  return quotaWindow({
    type: QUOTA_TYPES.balance,
    unit: "USD",
    period: TOTAL,
    // May fall below zero.
    amounts: amounts({
      remaining: tidy(data.total_credits - data.total_usage),
    }),
    resetsAt: null,
  });
}
