import { GatewayError } from "@gateway/base/error";
import { bearerToken } from "../interfaces.ts";
import type { AccountReading, CreditReading } from "./quota.ts";
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
  // Z.ai also accepts a key without a scheme.
  const key = bearerToken(headers) ?? headers.get("authorization");
  const { body, refuse } = QUOTAS[provider.family];
  return key === provider.key ? Response.json(body(account, nowMs)) : refuse();
}

/** The quota of a family's provider, as its endpoint and the headers of its answers report it. */
interface QuotaForm {
  body(account: AccountReading, nowMs: number): object;
  /** Responds to a wrong key. */
  refuse(): Response;
  headers(account: AccountReading, nowMs: number): Record<string, string>;
}

/** The quota of each family's provider. */
export const QUOTAS: Readonly<Record<SimulatedFamily, QuotaForm>> = {
  // The coding plan of Z.ai: rounded-down credits, reset in milliseconds. Errors have the status 200.
  A: {
    body: ({ fiveHour, weekly }) => ({
      code: 200,
      msg: "Operation successful",
      success: true,
      data: {
        level: "lite",
        limits: [zaiLimit(fiveHour, 3, 5), zaiLimit(weekly, 6, 1)],
      },
    }),
    refuse: () =>
      Response.json({
        code: 401,
        msg: "token expired or incorrect",
        success: false,
      }),
    headers: () => ({}),
  },
  // Anthropic's OAuth usage: used percent and reset as text. The headers have fractions and seconds.
  B: {
    body: ({ fiveHour, weekly }) => ({
      five_hour: fiveHour.resetsAtMs === undefined
        ? null
        : anthropicWindow(fiveHour),
      seven_day: anthropicWindow(weekly),
    }),
    refuse() {
      throw new GatewayError("unauthenticated", "Invalid bearer token");
    },
    headers: ({ fiveHour, weekly }, nowMs) => ({
      "anthropic-ratelimit-unified-status": "allowed",
      "anthropic-ratelimit-unified-reset": epochSeconds(fiveHour, nowMs),
      "anthropic-ratelimit-unified-representative-claim": "five_hour",
      ...anthropicHeaders("5h", fiveHour, nowMs),
      ...anthropicHeaders("7d", weekly, nowMs),
    }),
  },
  // The Codex back end: used percent, reset in seconds.
  C: {
    body: ({ fiveHour, weekly }, nowMs) => ({
      plan_type: "team",
      rate_limit: {
        allowed: true,
        limit_reached: false,
        primary_window: codexWindow(fiveHour, 18_000, nowMs),
        secondary_window: codexWindow(weekly, 604_800, nowMs),
      },
      credits: { has_credits: false, unlimited: false, balance: null },
    }),
    refuse: () => Response.json({ detail: "Unauthorized" }, { status: 401 }),
    headers: ({ fiveHour, weekly }, nowMs) => ({
      "x-codex-plan-type": "team",
      ...codexHeaders("primary", codexWindow(fiveHour, 18_000, nowMs)),
      ...codexHeaders("secondary", codexWindow(weekly, 604_800, nowMs)),
    }),
  },
};

function zaiLimit(
  { limit, used, resetsAtMs }: CreditReading,
  unit: number,
  number: number,
): object {
  return {
    type: "CREDIT_LIMIT",
    ...{ unit, number },
    usage: limit,
    currentValue: Math.floor(used),
    remaining: Math.max(0, Math.floor(limit - used)),
    percentage: Math.min(100, Math.floor(used / limit * 100)),
    ...(resetsAtMs === undefined ? {} : { nextResetTime: resetsAtMs }),
  };
}

function anthropicWindow({ limit, used, resetsAtMs }: CreditReading): object {
  return {
    utilization: Math.round(used / limit * 1000) / 10,
    resets_at: resetsAtMs === undefined
      ? null
      : new Date(resetsAtMs).toISOString(),
  };
}

function anthropicHeaders(
  length: "5h" | "7d",
  reading: CreditReading,
  nowMs: number,
): Record<string, string> {
  const prefix = `anthropic-ratelimit-unified-${length}`;
  return {
    [`${prefix}-status`]: "allowed",
    [`${prefix}-utilization`]: (reading.used / reading.limit).toFixed(4),
    [`${prefix}-reset`]: epochSeconds(reading, nowMs),
  };
}

/** Writes a window. A window that has not begun is reported as if it began now. */
function codexWindow(
  { limit, used, resetsAtMs }: CreditReading,
  lengthS: number,
  nowMs: number,
) {
  const resetMs = resetsAtMs ?? nowMs + lengthS * 1000;
  return {
    used_percent: Math.floor(used / limit * 100),
    limit_window_seconds: lengthS,
    reset_after_seconds: Math.ceil((resetMs - nowMs) / 1000),
    reset_at: Math.ceil(resetMs / 1000),
  };
}

function codexHeaders(
  slot: "primary" | "secondary",
  window: ReturnType<typeof codexWindow>,
): Record<string, string> {
  return {
    [`x-codex-${slot}-used-percent`]: `${window.used_percent}`,
    [`x-codex-${slot}-window-minutes`]: `${window.limit_window_seconds / 60}`,
    [`x-codex-${slot}-reset-at`]: `${window.reset_at}`,
    [`x-codex-${slot}-reset-after-seconds`]: `${window.reset_after_seconds}`,
  };
}

function epochSeconds({ resetsAtMs }: CreditReading, nowMs: number): string {
  return `${Math.ceil((resetsAtMs ?? nowMs) / 1000)}`;
}
