import { z } from "zod";
import {
  instantAfter,
  instantOfText,
  type Period,
  period,
  periodOfSeconds,
  periodOfText,
  UNKNOWN_PERIOD,
} from "../period.ts";
import { QUOTA_TYPES, quotaWindow, strictest } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  checkPayload,
  hostRequest,
  numeric,
  requireWindows,
  text,
} from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/** Kimi Code plans. The older form of a response has counts, the newer form has shares. */
export const kimi: QuotaReader = {
  poll: {
    // The host responds with 404 to a key without a coding plan.
    noPlanStatus: 404,
    requests: hostRequest("/coding/v1/usages"),
    parse([body], { nowMs }) {
      const { data, ...bare } = checkPayload(payload, body);
      return requireWindows(windowsOf(data ?? bare, nowMs));
    },
  },
};

const reset = z.object({
  resetTime: text,
  resetAt: text,
  reset_at: text,
  reset_time: text,
  period_end: text,
  reset_in: numeric,
  resetIn: numeric,
  ttl: numeric,
});

const counts = z.object({
  limit: numeric,
  used: numeric,
  remaining: numeric,
  ...reset.shape,
});

const share = z.object({ used_ratio: numeric, ...reset.shape });

const length = z.object({ duration: numeric, timeUnit: text }).nullish();

const body = z.object({
  usage: counts.nullish(),
  limits: z.array(z.object({
    window: length,
    detail: counts.nullish(),
  })).nullish(),
  usages: z.record(z.string(), share.nullish()).nullish(),
});

const payload = body.extend({ data: body.nullish() });

/** Returns the windows of both forms. If both forms report the same window, the stricter report counts. */
function windowsOf(
  { usage, limits, usages }: z.output<typeof body>,
  nowMs: number,
): QuotaWindow[] {
  const shares = Object.entries(usages ?? {}).flatMap(([name, window]) =>
    window ? [shareWindow(name, window, nowMs)] : []
  );
  const counted = (limits ?? []).flatMap(({ window, detail }) =>
    detail ? [countWindow(detail, periodOf(window), nowMs)] : []
  );
  if (usage) counted.push(countWindow(usage, period(1, "week"), nowMs));
  return strictest([...shares, ...counted]);
}

const SHARE_REGEXP =
  /^limit_(?:(\d+[hd])|(day|week|month))(?:_(?:total|(\w+)))?$/;

/**
 * Returns the window of a share. The share's name holds the length and the scope, in varying forms: `limit_7d`,
 * `limit_week`.
 */
function shareWindow(
  name: string,
  window: z.output<typeof share>,
  nowMs: number,
): QuotaWindow {
  const [, length, word, part = ""] = SHARE_REGEXP.exec(name) ?? [];
  const isKnown = length !== undefined || word !== undefined;
  return quotaWindow({
    type: QUOTA_TYPES.usage,
    scope: isKnown ? part : name,
    unit: "fraction",
    period: periodOfText(PERIOD_BY_WORD.get(word ?? "") ?? length),
    limit: 1,
    used: window.used_ratio,
    resetsAt: resetOf(window, nowMs),
  });
}

const PERIOD_BY_WORD = new Map([
  ["day", "1d"],
  ["week", "1w"],
  ["month", "1mo"],
]);

function countWindow(
  detail: z.output<typeof counts>,
  length: Period,
  nowMs: number,
): QuotaWindow {
  return quotaWindow({
    type: QUOTA_TYPES.usage,
    // Newer plans count in hundredths of the plan, older plans in requests.
    unit: detail.limit === 100 ? "percent" : "requests",
    period: length,
    limit: detail.limit,
    used: detail.used,
    remaining: detail.remaining,
    resetsAt: resetOf(detail, nowMs),
  });
}

const SECONDS_BY_TIME_UNIT = new Map([
  ["SECOND", 1],
  ["MINUTE", 60],
  ["HOUR", 3600],
  ["DAY", 86_400],
]);

function periodOf(window: z.output<typeof length>): Period {
  const unit = window?.timeUnit?.toUpperCase().replace(/^TIME_UNIT_|S$/g, "");
  const seconds = SECONDS_BY_TIME_UNIT.get(unit ?? "");
  return seconds === undefined
    ? UNKNOWN_PERIOD
    : periodOfSeconds((window?.duration ?? 0) * seconds);
}

/**
 * Returns the reset time of a window. Responses have it under several names, as an instant or as a number of seconds.
 */
function resetOf(
  window: z.output<typeof reset>,
  nowMs: number,
): string | null {
  const at = window.resetTime ?? window.resetAt ?? window.reset_at ??
    window.reset_time ?? window.period_end;
  const seconds = window.reset_in ?? window.resetIn ?? window.ttl;
  return instantOfText(at) ??
    instantAfter(nowMs, typeof seconds === "number" ? seconds * 1000 : null);
}
