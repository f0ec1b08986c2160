import { z } from "zod";
import { type Amounts, amounts, complement } from "../amounts.ts";
import type { FailureKind } from "../../protocols/canonical/failure/failure.ts";
import { QuotaFailure } from "../failure.ts";
import {
  instantAfter,
  instantOfMs,
  type Period,
  period,
  periodOfSeconds,
  UNKNOWN_PERIOD,
} from "../period.ts";
import { QUOTA_TYPES, type QuotaWindow, quotaWindow } from "../window.ts";
import {
  checkPayload,
  hostRequest,
  numeric,
  requireWindows,
  text,
} from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/** MiniMax token plans. A weekly boost enlarges the whole, and the share left is that of the boosted whole. */
export const minimax: QuotaReader = {
  poll: {
    requests: hostRequest("/v1/token_plan/remains"),
    parse([body], { nowMs }) {
      rejectErrors(checkPayload(envelope, body));
      const { data, model_remains } = checkPayload(payload, body);
      const rows = data?.model_remains ?? model_remains ?? [];
      return requireWindows(rows.flatMap((one) => windowsOf(one, nowMs)));
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
  /** Milliseconds, like `weekly_remains_time`. */
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

const KIND_BY_CODE = new Map<number, FailureKind>([
  [1002, "rate_limited"],
  [1004, "authentication"],
  [1008, "quota"],
  [2049, "authentication"],
  [2062, "quota"],
]);

const MESSAGE_BY_KIND = new Map<FailureKind, string>([
  [
    "rate_limited",
    "Cannot read the quota: the provider limits the rate of quota reads.",
  ],
  [
    "authentication",
    "Cannot read the quota: the provider rejects the connection's key. Check the key and its region.",
  ],
  [
    "quota",
    "Cannot read the quota: the connection's key has no active token plan.",
  ],
]);

/** Throws the failure of an error body. Errors have the status 200. */
function rejectErrors({ base_resp }: z.output<typeof envelope>): void {
  const code = base_resp?.status_code ?? 0;
  if (code === 0) return;
  const kind = KIND_BY_CODE.get(code) ?? "server";
  throw new QuotaFailure(
    kind,
    MESSAGE_BY_KIND.get(kind) ??
      "Cannot read the quota: the provider responded with an error.",
  );
}

/** One meter of a row. A status of 3 means that it is not limited. */
interface Meter {
  readonly model: string;
  readonly total: number | null | undefined;
  readonly count: number | null | undefined;
  readonly remainingPercent: number | null | undefined;
  readonly status: number | null | undefined;
  readonly period: Period;
  readonly resetsAt: string | null;
}

const UNLIMITED = 3;

function windowsOf(one: Row, nowMs: number): QuotaWindow[] {
  return (["interval", "weekly"] as const)
    .map((span) => meterOf(one, span, nowMs))
    .filter((meter) => meter.status !== UNLIMITED && hasNumbers(meter))
    .map(toWindow);
}

function meterOf(
  one: Row,
  span: "interval" | "weekly",
  nowMs: number,
): Meter {
  const prefix = span === "weekly" ? "weekly_" : "";
  const startMs = one[`${prefix}start_time` as const];
  const endMs = one[`${prefix}end_time` as const];
  return {
    model: one.model_name ?? "",
    total: one[`current_${span}_total_count`],
    count: one[`current_${span}_usage_count`],
    remainingPercent: one[`current_${span}_remaining_percent`],
    status: one[`current_${span}_status`],
    period: periodBetween(startMs, endMs) ??
      (span === "weekly" ? period(1, "week") : UNKNOWN_PERIOD),
    resetsAt: instantOfMs(endMs) ??
      instantAfter(nowMs, one[`${prefix}remains_time`]),
  };
}

/** Returns the period between two times. The usual length is five hours, but four hours and a day occur. */
function periodBetween(
  startMs: number | null | undefined,
  endMs: number | null | undefined,
): Period | undefined {
  if (typeof startMs !== "number" || typeof endMs !== "number") {
    return undefined;
  }
  return periodOfSeconds((endMs - startMs) / 1000);
}

function hasNumbers({ remainingPercent, total }: Meter): boolean {
  return typeof remainingPercent === "number" || (total ?? 0) > 0;
}

function toWindow(meter: Meter): QuotaWindow {
  const counted = countsOf(meter);
  return quotaWindow({
    type: QUOTA_TYPES.usage,
    scope: meter.model === "general" ? "" : meter.model,
    unit: counted === undefined ? "percent" : "requests",
    period: meter.period,
    ...(counted ?? { usedPercent: complement(meter.remainingPercent, 100) }),
    resetsAt: meter.resetsAt,
  });
}

/** The largest difference between a count and a whole percent of the same amount. */
const PERCENT_TOLERANCE = 1;

/**
 * Returns the counts of plans that have them. `*_usage_count` is the amount left on most hosts and the amount used on
 * some. The percentage decides which. When neither fits, the counts are ignored.
 */
function countsOf(meter: Meter): Amounts | undefined {
  const { total, count, remainingPercent } = meter;
  if (typeof total !== "number" || typeof count !== "number" || total <= 0) {
    return undefined;
  }
  if (typeof remainingPercent !== "number") {
    return amounts({ limit: total, remaining: count });
  }
  const percent = (count / total) * 100;
  if (isClose(percent, remainingPercent)) {
    return amounts({ limit: total, remaining: count });
  }
  return isClose(percent, 100 - remainingPercent)
    ? amounts({ limit: total, used: count })
    : undefined;
}

function isClose(one: number, other: number): boolean {
  return Math.abs(one - other) <= PERCENT_TOLERANCE;
}
