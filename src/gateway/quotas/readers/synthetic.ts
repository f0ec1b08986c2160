import { z } from "zod";
import { complement } from "../amounts.ts";
import {
  instantOfText,
  type Period,
  period,
  UNKNOWN_PERIOD,
} from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  checkPayload,
  flag,
  hostRequest,
  numeric,
  requireWindows,
  text,
} from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/** Synthetic. Its main meters refill in small steps. The next step is no reset, so these windows have no reset time. */
export const synthetic: QuotaReader = {
  poll: {
    requests: hostRequest("/v2/quotas"),
    parse([body]) {
      const { data, ...bare } = checkPayload(payload, body);
      return requireWindows(windowsOf(data ?? bare));
    },
  },
};

/** An amount of US dollars as text, such as `$1,036.00`. */
const dollars = z.string().regex(/^-?\$[\d,]{1,15}(\.\d{1,6})?$/)
  .transform((value) => Number(value.replace(/[$,]/g, ""))).nullish();

const calls = z.object({ limit: numeric, requests: numeric, renewsAt: text })
  .nullish();

const body = z.object({
  rollingFiveHourLimit: z.object({
    max: numeric,
    remaining: numeric,
    limited: flag,
  }).nullish(),
  weeklyTokenLimit: z.object({
    maxCredits: dollars,
    remainingCredits: dollars,
    percentRemaining: numeric,
  }).nullish(),
  search: z.object({ hourly: calls }).nullish(),
  subscription: calls,
});

const payload = body.extend({ data: body.nullish() });

function windowsOf(
  { rollingFiveHourLimit: rolling, weeklyTokenLimit: weekly, ...meters }:
    z.output<typeof body>,
): QuotaWindow[] {
  const windows = [
    rolling && quotaWindow({
      type: QUOTA_TYPES.requests,
      unit: "requests",
      period: period(5, "hour"),
      limit: rolling.max,
      remaining: rolling.remaining,
      isStopped: rolling.limited === true,
    }),
    weekly && quotaWindow({
      type: QUOTA_TYPES.spend,
      unit: "USD",
      period: period(1, "week"),
      limit: weekly.maxCredits,
      remaining: weekly.remainingCredits,
      usedPercent: complement(weekly.percentRemaining, 100),
    }),
    callWindow("search", period(1, "hour"), meters.search?.hourly),
    callWindow("subscription", UNKNOWN_PERIOD, meters.subscription),
  ];
  return windows.filter((one) => one !== null && one !== undefined);
}

function callWindow(
  scope: string,
  length: Period,
  meter: z.output<typeof calls>,
): QuotaWindow | undefined {
  return meter
    ? quotaWindow({
      type: QUOTA_TYPES.requests,
      scope,
      unit: "requests",
      period: length,
      limit: meter.limit,
      used: meter.requests,
      resetsAt: instantOfText(meter.renewsAt),
    })
    : undefined;
}
