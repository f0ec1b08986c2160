import { GatewayError } from "@gateway/base/error";
import { bearerToken } from "../interfaces.ts";
import {
  type AccountReading,
  type CreditReading,
  usedFraction,
} from "./quota.ts";
import type { Provider, SimulatedFamily } from "../providers.ts";

/**
 * Responds to a quota request in the provider's own shape.
 *
 * @throws {GatewayError} For a wrong key at family B.
 */
export function quotaResponse(
  headers: Headers,
  { provider, account, nowMs }: {
    readonly provider: Provider;
    readonly account: AccountReading;
    readonly nowMs: number;
  },
): Response {
  const isKeyRight = presentedKey(headers) === provider.key;
  switch (provider.family) {
    case "A":
      return Response.json(isKeyRight ? zaiQuota(account) : zaiQuotaRefusal());
    case "B":
      if (!isKeyRight) {
        throw new GatewayError("unauthenticated", "Invalid bearer token");
      }
      return Response.json(anthropicQuota(account));
    case "C":
      return isKeyRight
        ? Response.json(codexQuota(account, nowMs))
        : Response.json({ detail: "Unauthorized" }, { status: 401 });
  }
}

/** Returns the key of a request; Z.ai also accepts a key without a scheme. */
function presentedKey(headers: Headers): string | null {
  return bearerToken(headers) ?? headers.get("authorization");
}

const FIVE_HOURS_S = 18_000;
const WEEK_S = 604_800;

/** Writes an account of family A like the coding plan of Z.ai: rounded-down credits, reset in milliseconds. */
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

/** Writes the coding plan's error for a wrong key: HTTP 200, with the code in the body. */
function zaiQuotaRefusal(): object {
  return { code: 401, msg: "token expired or incorrect", success: false };
}

function zaiLimit(
  { limit, used, resetsAtMs }: CreditReading,
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

/** Writes an account of family B like Anthropic's OAuth usage: used percent, reset as text. */
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

function anthropicWindow(reading: CreditReading): object {
  return {
    utilization: Math.round(usedFraction(reading) * 1000) / 10,
    resets_at: isoTime(reading.resetsAtMs),
  };
}

function anthropicLimit(
  reading: CreditReading,
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

/** Writes an account of family C like the Codex back end: used percent, reset in seconds. */
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

/** Writes a window; one that has not begun is reported as if it began now. */
function codexWindow(
  reading: CreditReading,
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

/**
 * Returns the quota headers of a response. Family A writes those of an OpenAI platform key (counts per minute), B those
 * of an Anthropic OAuth token (fractions), C those of the Codex back end (percent).
 */
export function quotaHeaders(
  account: AccountReading,
  options: { readonly family: SimulatedFamily; readonly nowMs: number },
): Record<string, string> {
  switch (options.family) {
    case "A":
      return openaiHeaders(account, options.nowMs);
    case "B":
      return anthropicHeaders(account, options.nowMs);
    case "C":
      return codexHeaders(account, options.nowMs);
  }
}

function openaiHeaders(
  { requests, tokens }: AccountReading,
  nowMs: number,
): Record<string, string> {
  return {
    "x-ratelimit-limit-requests": `${requests.limit}`,
    "x-ratelimit-remaining-requests": `${remaining(requests)}`,
    "x-ratelimit-reset-requests": duration(requests, nowMs),
    "x-ratelimit-limit-tokens": `${tokens.limit}`,
    "x-ratelimit-remaining-tokens": `${remaining(tokens)}`,
    "x-ratelimit-reset-tokens": duration(tokens, nowMs),
  };
}

function anthropicHeaders(
  { fiveHour, weekly }: AccountReading,
  nowMs: number,
): Record<string, string> {
  const prefix = "anthropic-ratelimit-unified";
  return {
    [`${prefix}-status`]: "allowed",
    [`${prefix}-reset`]: epochSeconds(fiveHour, nowMs),
    [`${prefix}-representative-claim`]: "five_hour",
    [`${prefix}-5h-status`]: "allowed",
    [`${prefix}-5h-utilization`]: usedFraction(fiveHour).toFixed(4),
    [`${prefix}-5h-reset`]: epochSeconds(fiveHour, nowMs),
    [`${prefix}-7d-status`]: "allowed",
    [`${prefix}-7d-utilization`]: usedFraction(weekly).toFixed(4),
    [`${prefix}-7d-reset`]: epochSeconds(weekly, nowMs),
  };
}

function codexHeaders(
  { fiveHour, weekly }: AccountReading,
  nowMs: number,
): Record<string, string> {
  return {
    "x-codex-plan-type": "team",
    ...codexWindowHeaders("primary", fiveHour, nowMs),
    "x-codex-primary-window-minutes": "300",
    ...codexWindowHeaders("secondary", weekly, nowMs),
    "x-codex-secondary-window-minutes": "10080",
  };
}

function codexWindowHeaders(
  slot: "primary" | "secondary",
  reading: CreditReading,
  nowMs: number,
): Record<string, string> {
  const prefix = `x-codex-${slot}`;
  const percent = Math.floor(usedFraction(reading) * 100);
  return {
    [`${prefix}-used-percent`]: `${percent}`,
    [`${prefix}-reset-at`]: epochSeconds(reading, nowMs),
    [`${prefix}-reset-after-seconds`]: `${secondsLeft(reading, nowMs)}`,
  };
}

function remaining({ used, limit }: CreditReading): number {
  return Math.max(0, Math.floor(limit - used));
}

function epochSeconds({ resetsAtMs }: CreditReading, nowMs: number): string {
  return `${Math.ceil((resetsAtMs ?? nowMs) / 1000)}`;
}

function secondsLeft({ resetsAtMs }: CreditReading, nowMs: number): number {
  return Math.ceil(((resetsAtMs ?? nowMs) - nowMs) / 1000);
}

function duration(reading: CreditReading, nowMs: number): string {
  return `${secondsLeft(reading, nowMs)}s`;
}
