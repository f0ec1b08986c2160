import { z } from "zod";
import type { KnownAmounts } from "../amounts.ts";
import {
  instantOfText,
  type Period,
  period,
  periodOfText,
  TOTAL,
} from "../period.ts";
import { QUOTA_TYPES, quotaWindow, strictest } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  bearerHeaders,
  checkPayload,
  flag,
  keyRejected,
  numeric,
  requireWindows,
  rootUrl,
  text,
  withQuery,
} from "./payload.ts";
import type { QuotaReader, QuotaSource } from "./reader.ts";

/** A sub2api gateway: the quota of the key, its windows, and its subscription. */
export const sub2api: QuotaReader = {
  poll: {
    requests: (
      source,
    ) => [{ url: urlOf(source), headers: bearerHeaders(source) }],
    parse([body]) {
      const answer = checkPayload(payload, body);
      if (answer.isValid === false) {
        throw keyRejected();
      }
      return requireWindows([
        ...strictest([
          ...keyWindows(answer),
          ...rateWindows(answer),
          ...subscriptionWindows(answer),
        ]),
        ...balanceWindows(answer),
      ]);
    },
  },
};

const currency = z.string().transform((value) =>
  /^[a-z]{3}$/i.test(value) ? value.toUpperCase() : null
).nullish();

const payload = z.object({
  isValid: flag,
  status: text,
  unit: currency,
  quota: z.object({
    limit: numeric,
    used: numeric,
    remaining: numeric,
    unit: currency,
  }).nullish(),
  rate_limits: z.array(z.object({
    window: text,
    limit: numeric,
    used: numeric,
    remaining: numeric,
    reset_at: text,
  })).nullish(),
  subscription: z.object({
    daily_usage_usd: numeric,
    daily_limit_usd: numeric,
    weekly_usage_usd: numeric,
    weekly_limit_usd: numeric,
    monthly_usage_usd: numeric,
    monthly_limit_usd: numeric,
  }).nullish(),
  balance: numeric,
});

type Payload = z.output<typeof payload>;

function urlOf(source: QuotaSource): string {
  const url = withQuery(rootUrl(source, "/v1/usage"), "days", "30");
  return withQuery(url, "timezone", "UTC");
}

function keyWindows({ quota, unit, status }: Payload): QuotaWindow[] {
  if (!quota) return [];
  const isStopped = status === "quota_exhausted";
  return [
    spendWindow(TOTAL, { ...quota, unit: quota.unit ?? unit, isStopped }),
  ];
}

function rateWindows({ rate_limits: all, unit }: Payload): QuotaWindow[] {
  return (all ?? []).map((one) =>
    spendWindow(periodOfText(one.window), { ...one, unit })
  );
}

/** Returns the windows of a subscription. It reports no reset, and a limit of 0 means none. */
function subscriptionWindows({ subscription: one }: Payload): QuotaWindow[] {
  if (!one) return [];
  const windows = [
    [period(1, "day"), one.daily_limit_usd, one.daily_usage_usd],
    [period(1, "week"), one.weekly_limit_usd, one.weekly_usage_usd],
    [period(1, "month"), one.monthly_limit_usd, one.monthly_usage_usd],
  ] as const;
  return windows.flatMap(([length, limit, used]) =>
    limit ? [spendWindow(length, { limit, used, unit: "USD" })] : []
  );
}

function balanceWindows({ balance, unit }: Payload): QuotaWindow[] {
  if (typeof balance !== "number") return [];
  return [quotaWindow({
    type: QUOTA_TYPES.balance,
    unit: unit ?? "currency",
    period: TOTAL,
    remaining: balance,
  })];
}

function spendWindow(
  length: Period,
  { unit, reset_at, ...known }: KnownAmounts & {
    readonly unit?: string | null | undefined;
    readonly reset_at?: string | null | undefined;
  },
): QuotaWindow {
  return quotaWindow({
    type: QUOTA_TYPES.spend,
    unit: unit ?? "currency",
    period: length,
    ...known,
    resetsAt: instantOfText(reset_at),
  });
}
