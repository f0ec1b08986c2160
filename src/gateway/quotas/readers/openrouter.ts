import { z } from "zod";
import { tidy } from "../amounts.ts";
import { type Period, period, TOTAL, UNKNOWN_PERIOD } from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
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
 * OpenRouter: the limit of the connection's own key. If `quota.key` is a management key, also the account's credits.
 * Other keys may not read the credits.
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
    /** In US dollars. Null means that there is no cap. */
    limit: numeric,
    limit_remaining: numeric,
    limit_reset: text,
    /** The usage since the key was made, not in the limit's window. */
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
    ...(hasCap ? { limit, remaining: limit_remaining } : { used: usage }),
  });
}

/** Returns the period that has this name. The provider reports no reset time. */
function periodOf(word: string | null | undefined): Period {
  if (word === null || word === undefined) return TOTAL;
  return PERIOD_BY_WORD.get(word) ?? UNKNOWN_PERIOD;
}

const PERIOD_BY_WORD = new Map([
  ["daily", period(1, "day")],
  ["weekly", period(1, "week")],
  ["monthly", period(1, "month")],
]);

function creditWindow(account: unknown): QuotaWindow {
  const { data } = checkPayload(creditPayload, account);
  return quotaWindow({
    type: QUOTA_TYPES.balance,
    unit: "USD",
    period: TOTAL,
    // May fall below zero.
    remaining: tidy(data.total_credits - data.total_usage),
  });
}
