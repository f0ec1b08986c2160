import { z } from "zod";
import { complement, type KnownAmounts } from "../amounts.ts";
import { unreadable } from "../failure.ts";
import {
  instantAfter,
  instantOfMs,
  period,
  periodOfSeconds,
  UNKNOWN_PERIOD,
} from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  checkPayload,
  errorBody,
  hostRequest,
  keyRejected,
  numeric,
  requireWindows,
  text,
} from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/** MiniMax token plans. A weekly boost enlarges the window, and the share left refers to the enlarged window. */
export const minimax: QuotaReader = {
  poll: {
    requests: hostRequest("/v1/token_plan/remains"),
    parse([body], { nowMs }) {
      rejectErrors(checkPayload(envelope, body));
      const { data, model_remains } = checkPayload(payload, body);
      const rows = data?.model_remains ?? model_remains ?? [];
      return requireWindows(rows.flatMap((one) => [
        ...windowOf(one, "interval", nowMs),
        ...windowOf(one, "weekly", nowMs),
      ]));
    },
  },
};

const envelope = z.object({
  base_resp: z.object({ status_code: numeric }).nullish(),
});

const row = z.object({
  model_name: text,
  start_time: numeric,
  end_time: numeric,
  /** In milliseconds, as is `weekly_remains_time`. */
  remains_time: numeric,
  current_interval_total_count: numeric,
  current_interval_usage_count: numeric,
  current_interval_remaining_percent: numeric,
  current_interval_status: numeric,
  weekly_start_time: numeric,
  weekly_end_time: numeric,
  weekly_remains_time: numeric,
  current_weekly_total_count: numeric,
  current_weekly_usage_count: numeric,
  current_weekly_remaining_percent: numeric,
  current_weekly_status: numeric,
});

type Row = z.output<typeof row>;

const rows = z.array(row).nullish();

const payload = z.object({
  data: z.object({ model_remains: rows }).nullish(),
  model_remains: rows,
});

/** Throws the failure of an error body. Errors have the status 200. */
function rejectErrors({ base_resp }: z.output<typeof envelope>): void {
  switch (base_resp?.status_code ?? 0) {
    case 0:
      return;
    case 1002:
      throw unreadable(
        "rate_limited",
        "the provider limits the rate of quota reads.",
      );
    case 1004:
    case 2049:
      throw keyRejected(" Check the key and its region.");
    case 1008:
    case 2062:
      throw unreadable(
        "quota",
        "the connection's key has no active token plan.",
      );
    default:
      throw errorBody();
  }
}

/**
 * Two statuses of a meter. With the first, the meter stops requests, even if it reports that a share is left. With the
 * second, the meter is unlimited.
 */
const [EXHAUSTED, UNLIMITED] = [2, 3];

/** Returns the window of a row's short interval, or of its week. */
function windowOf(
  one: Row,
  span: "interval" | "weekly",
  nowMs: number,
): QuotaWindow[] {
  const prefix = span === "weekly" ? "weekly_" : "";
  const startMs = one[`${prefix}start_time` as const];
  const endMs = one[`${prefix}end_time` as const];
  const left = one[`current_${span}_remaining_percent`];
  const total = one[`current_${span}_total_count`] ?? 0;
  const hasNumbers = typeof left === "number" || total > 0;
  const status = one[`current_${span}_status`];
  if (status === UNLIMITED || !hasNumbers) return [];
  const counted = countsOf(total, one[`current_${span}_usage_count`], left);
  return [quotaWindow({
    type: QUOTA_TYPES.usage,
    scope: one.model_name === "general" ? "" : one.model_name ?? "",
    unit: counted === undefined ? "percent" : "requests",
    // The usual length is five hours, but four hours and a day occur.
    period: typeof startMs === "number" && typeof endMs === "number"
      ? periodOfSeconds((endMs - startMs) / 1000)
      : span === "weekly"
      ? period(1, "week")
      : UNKNOWN_PERIOD,
    ...counted,
    otherPercent: complement(left, 100),
    isStopped: status === EXHAUSTED,
    resetsAt: instantOfMs(endMs) ??
      instantAfter(nowMs, one[`${prefix}remains_time`]),
  })];
}

/**
 * Two percentages that differ by at most this much count as equal. Reported percentages are rounded to whole numbers.
 */
const PERCENT_TOLERANCE = 1;

/**
 * Returns the counts, if the plan reports counts. `*_usage_count` is the amount left on most hosts and the amount used
 * on some. The reported percentage shows which amount it is. If neither fits the percentage, the counts are ignored.
 */
function countsOf(
  total: number,
  count: number | null | undefined,
  remainingPercent: number | null | undefined,
): KnownAmounts | undefined {
  if (typeof count !== "number" || total <= 0) return undefined;
  const percent = (count / total) * 100;
  if (
    typeof remainingPercent !== "number" || isClose(percent, remainingPercent)
  ) return { limit: total, remaining: count };
  return isClose(percent, 100 - remainingPercent)
    ? { limit: total, used: count }
    : undefined;
}

function isClose(one: number, other: number): boolean {
  return Math.abs(one - other) <= PERCENT_TOLERANCE;
}
