import { QUOTA_TYPES } from "../window.ts";
import { rowWindows, valueAt, type WindowRow } from "./json.ts";
import { hostRequest, requireWindows } from "./payload.ts";
import type { QuotaReader } from "./reader.ts";

/**
 * Synthetic. Its main meters refill in small steps. Such a step does not reset a window, so these windows have no reset
 * time.
 */
export const synthetic: QuotaReader = {
  poll: {
    requests: hostRequest("/v2/quotas"),
    parse: ([body], { nowMs }) =>
      requireWindows(rowWindows(ROWS, valueAt(body, "/data") ?? body, nowMs)),
  },
};

/** A meter of calls, with the time of its reset. */
const CALLS = {
  type: QUOTA_TYPES.requests,
  unit: "requests",
  limit: "/limit",
  used: "/requests",
  resets_at: { at: "/renewsAt", format: "iso" },
} as const;

const ROWS: readonly WindowRow[] = [
  {
    type: QUOTA_TYPES.requests,
    unit: "requests",
    period: "5h",
    at: "/rollingFiveHourLimit",
    limit: "/max",
    remaining: "/remaining",
    stopped: "/limited",
  },
  {
    type: QUOTA_TYPES.spend,
    unit: "USD",
    period: "1w",
    at: "/weeklyTokenLimit",
    limit: "/maxCredits",
    remaining: "/remainingCredits",
    share: { at: "/percentRemaining", of: "remaining_percent" },
  },
  { ...CALLS, scope: "search", period: "1h", at: "/search/hourly" },
  { ...CALLS, scope: "subscription", at: "/subscription" },
];
