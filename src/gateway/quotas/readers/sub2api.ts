import { z } from "zod";
import { QUOTA_TYPES, strictest } from "../window.ts";
import { rowWindows, type WindowRow } from "./json.ts";
import {
  bearerHeaders,
  checkPayload,
  flag,
  keyRejected,
  requireWindows,
  rootUrl,
  text,
  withQuery,
} from "./payload.ts";
import type { QuotaReader, QuotaSource } from "./reader.ts";

/** A sub2api gateway: the quota of the key, its windows, its subscription and the balance. */
export const sub2api: QuotaReader = {
  poll: {
    requests: (
      source,
    ) => [{ url: urlOf(source), headers: bearerHeaders(source) }],
    parse([body], { nowMs }) {
      const answer = checkPayload(payload, body);
      if (answer.isValid === false) throw keyRejected();
      return requireWindows(strictest([
        ...rowWindows(rowsOf(answer), body, nowMs),
        // A subscription reports no reset. A limit of 0 in a subscription means that there is no limit.
        ...rowWindows(SUBSCRIPTION, body, nowMs).filter(({ limit }) => limit),
        ...rowWindows(
          [{
            type: QUOTA_TYPES.balance,
            unit: answer.unit ?? "currency",
            period: "total",
            remaining: "/balance",
          }],
          body,
          nowMs,
        ),
      ]));
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
  quota: z.object({ unit: currency }).nullish(),
  rate_limits: z.array(z.object({ window: text, reset_at: text })).nullish(),
});

function urlOf(source: QuotaSource): string {
  const url = withQuery(rootUrl(source, "/v1/usage"), "days", "30");
  return withQuery(url, "timezone", "UTC");
}

const AMOUNTS = {
  type: QUOTA_TYPES.spend,
  limit: "/limit",
  used: "/used",
  remaining: "/remaining",
} as const;

/** Returns the rows of the key: its whole quota, and its windows. */
function rowsOf(
  { status, quota, rate_limits, unit }: z.output<typeof payload>,
): WindowRow[] {
  return [
    {
      ...AMOUNTS,
      unit: quota?.unit ?? unit ?? "currency",
      period: "total",
      at: "/quota",
      stopped: status === "quota_exhausted",
    },
    ...(rate_limits ?? []).map(({ window }, index): WindowRow => ({
      ...AMOUNTS,
      unit: unit ?? "currency",
      period: window ?? undefined,
      at: `/rate_limits/${index}`,
      resets_at: { at: "/reset_at", format: "iso" },
    })),
  ];
}

const SUBSCRIPTION = [["daily", "1d"], ["weekly", "1w"], ["monthly", "1mo"]]
  .map(([name, period]): WindowRow => ({
    type: QUOTA_TYPES.spend,
    unit: "USD",
    period,
    at: "/subscription",
    limit: `/${name}_limit_usd`,
    used: `/${name}_usage_usd`,
  }));
