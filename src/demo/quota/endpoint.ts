import { bearerToken } from "../admission.ts";
import type { Demo } from "../demo.ts";
import { type Reading, usedFraction } from "../meter.ts";
import type { Provider } from "../providers.ts";
import { Refusal } from "../refusal.ts";
import type { AccountReading } from "./quota.ts";

/**
 * Answers a question for the quota of a provider's account, in the provider's own shape.
 *
 * @throws {Refusal} For a wrong key at family B.
 */
export function quotaAnswer(
  headers: Headers,
  { provider, demo }: { readonly provider: Provider; readonly demo: Demo },
): Response {
  const account = demo.quota.read(provider.family);
  const isKeyRight = presentedKey(headers) === provider.key;
  switch (provider.family) {
    case "A":
      return Response.json(isKeyRight ? zaiQuota(account) : zaiQuotaRefusal());
    case "B":
      if (!isKeyRight) {
        throw new Refusal("unauthenticated", "Invalid bearer token");
      }
      return Response.json(anthropicQuota(account));
    case "C":
      return isKeyRight
        ? Response.json(codexQuota(account, demo.clock.now()))
        : Response.json({ detail: "Unauthorized" }, { status: 401 });
  }
}

/** Z.ai takes its key without a scheme too. */
function presentedKey(headers: Headers): string | null {
  return bearerToken(headers) ?? headers.get("authorization");
}

const FIVE_HOURS_S = 18_000;
const WEEK_S = 604_800;

/** An account of family A as the coding plan of Z.ai reports it: floored credits, reset in milliseconds. */
function zaiQuota({ fiveHour, weekly }: AccountReading): object {
  return {
    code: 200,
    msg: "Operation successful",
    success: true,
    data: {
      level: "lite",
      limits: [
        zaiLimit(fiveHour, { unit: 3, number: 5 }),
        zaiLimit(weekly, { unit: 6, number: 1 }),
      ],
    },
  };
}

/** What the coding plan answers to a wrong key: HTTP 200, the code is in the body. */
function zaiQuotaRefusal(): object {
  return { code: 401, msg: "token expired or incorrect", success: false };
}

function zaiLimit(
  { limit, used, resetsAtMs }: Reading,
  period: { readonly unit: number; readonly number: number },
): object {
  return {
    type: "CREDIT_LIMIT",
    ...period,
    usage: limit,
    currentValue: Math.floor(used),
    remaining: Math.max(0, Math.floor(limit - used)),
    percentage: Math.min(100, Math.floor(used / limit * 100)),
    ...(resetsAtMs === undefined ? {} : { nextResetTime: resetsAtMs }),
  };
}

/** An account of family B as Anthropic's OAuth usage reports it: percent used, reset as text. */
function anthropicQuota({ fiveHour, weekly }: AccountReading): object {
  return {
    five_hour: fiveHour.resetsAtMs === undefined
      ? null
      : anthropicWindow(fiveHour),
    seven_day: anthropicWindow(weekly),
    seven_day_opus: null,
    seven_day_sonnet: null,
    extra_usage: {
      is_enabled: false,
      monthly_limit: null,
      used_credits: null,
      utilization: null,
    },
    limits: [
      anthropicLimit(fiveHour, { kind: "session", group: "session" }),
      anthropicLimit(weekly, { kind: "weekly_all", group: "weekly" }),
    ],
  };
}

function anthropicWindow(reading: Reading): object {
  return {
    utilization: Math.round(usedFraction(reading) * 1000) / 10,
    resets_at: isoTime(reading.resetsAtMs),
  };
}

function anthropicLimit(
  reading: Reading,
  names: { readonly kind: string; readonly group: string },
): object {
  return {
    ...names,
    percent: Math.floor(usedFraction(reading) * 100),
    severity: usedFraction(reading) < 0.8 ? "normal" : "warning",
    resets_at: isoTime(reading.resetsAtMs),
    scope: null,
    is_active: names.kind === "session",
  };
}

/** An account of family C as the Codex back end reports it: percent used, reset in seconds. */
function codexQuota(
  { fiveHour, weekly }: AccountReading,
  nowMs: number,
): object {
  return {
    plan_type: "team",
    rate_limit: {
      allowed: true,
      limit_reached: false,
      primary_window: codexWindow(fiveHour, FIVE_HOURS_S, nowMs),
      secondary_window: codexWindow(weekly, WEEK_S, nowMs),
    },
    code_review_rate_limit: null,
    additional_rate_limits: null,
    credits: { has_credits: false, unlimited: false, balance: null },
  };
}

/** A window that has not begun is told as one that would begin now. */
function codexWindow(
  reading: Reading,
  lengthS: number,
  nowMs: number,
): object {
  const resetsAtMs = reading.resetsAtMs ?? nowMs + lengthS * 1000;
  return {
    used_percent: Math.floor(usedFraction(reading) * 100),
    limit_window_seconds: lengthS,
    reset_after_seconds: Math.ceil((resetsAtMs - nowMs) / 1000),
    reset_at: Math.ceil(resetsAtMs / 1000),
  };
}

function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
