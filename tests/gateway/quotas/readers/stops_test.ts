import { anthropic } from "../../../../src/gateway/quotas/readers/anthropic.ts";
import { codexHeaders } from "../../../../src/gateway/quotas/readers/codex.ts";
import type { QuotaConfig } from "../../../../src/gateway/config/config.ts";
import { steps } from "../../../support/steps.ts";
import { assertWindows, parse, sourceOf } from "../quota_case.ts";

/** Bodies with two statements about one window, and the expected type, length, unit and numbers. */
const BODIES: Readonly<
  Record<string, [QuotaConfig["kind"], unknown, ...string[]]>
> = {
  "Copilot's percent beside its counts": [
    "copilot",
    {
      quota_snapshots: {
        chat: { entitlement: 300, remaining: 150, percent_remaining: 0 },
        completions: {
          entitlement: 3000,
          remaining: 1000,
          percent_remaining: 33.3,
        },
      },
    },
    "REQUESTS_LIMIT:chat monthly requests 300 150 150 100",
    "REQUESTS_LIMIT:completions monthly requests 3000 2000 1000 66.6666666667",
  ],
  "Codex's reached limit, of the fuller window": [
    "codex",
    {
      rate_limit: {
        allowed: false,
        limit_reached: true,
        primary_window: { used_percent: 12, limit_window_seconds: 18_000 },
        secondary_window: { used_percent: 99, limit_window_seconds: 604_800 },
      },
      code_review_rate_limit: {
        limit_reached: false,
        primary_window: { used_percent: 99, limit_window_seconds: 604_800 },
      },
    },
    "USAGE_LIMIT five_hour percent 100 12 88 12",
    "USAGE_LIMIT weekly percent 100 100 0 100",
    "USAGE_LIMIT:code_review weekly percent 100 99 1 99",
  ],
  "Codex's reached limit beside a used-up window": [
    "codex",
    {
      rate_limit: {
        limit_reached: true,
        primary_window: { used_percent: 101, limit_window_seconds: 18_000 },
        secondary_window: { used_percent: 99, limit_window_seconds: 604_800 },
      },
    },
    "USAGE_LIMIT five_hour percent 100 101 0 101",
    "USAGE_LIMIT weekly percent 100 99 1 99",
  ],
  "Codex's cap on a member": [
    "codex",
    {
      spend_control: {
        reached: false,
        individual_limit: {
          limit: "100",
          used: "20",
          used_percent: 20,
          remaining_percent: 0,
        },
      },
    },
    "SPEND_LIMIT unknown credits 100 20 80 100",
  ],
  "Codex's reached cap": [
    "codex",
    {
      spend_control: {
        reached: true,
        individual_limit: { used_percent: 97, remaining_percent: 3 },
      },
    },
    "SPEND_LIMIT unknown percent 100 100 0 100",
  ],
  "Anthropic's extra usage": [
    "anthropic",
    {
      extra_usage: {
        is_enabled: true,
        monthly_limit: 4000,
        used_credits: 1000,
        utilization: 100,
        currency: "EUR",
        decimal_places: 2,
      },
    },
    "SPEND_LIMIT:extra_usage monthly EUR 40 10 30 100",
  ],
  "Synthetic's limited flag": [
    "synthetic",
    { rollingFiveHourLimit: { max: 750, remaining: 3, limited: true } },
    "REQUESTS_LIMIT five_hour requests 750 747 3 100",
  ],
  "DeepSeek's balance below the price of a request": [
    "deepseek",
    {
      is_available: false,
      balance_infos: [{ currency: "USD", total_balance: "0.01" }],
    },
    "BALANCE total USD - - 0.01 100",
  ],
  "a used-up key of sub2api, whose subscription repeats a window": [
    "sub2api",
    {
      isValid: true,
      status: "quota_exhausted",
      unit: "USD",
      quota: { limit: 10, used: 9.99, remaining: 0.01 },
      rate_limits: [{ window: "1d", limit: 5, used: 1, remaining: 4 }],
      subscription: { daily_usage_usd: 5, daily_limit_usd: 5 },
    },
    "SPEND_LIMIT total USD 10 9.99 0.01 100",
    "SPEND_LIMIT daily USD 5 5 0 100",
  ],
  "two budgets of a LiteLLM key for one length": [
    "litellm",
    {
      spend: 1,
      max_budget: 10,
      budget_duration: "30d",
      budget_limits: [{ budget_duration: "30d", max_budget: 2 }],
      budget_limits_usage: { "30d": { current_spend: 2 } },
    },
    "SPEND_LIMIT monthly USD 2 2 0 100",
  ],
};

Deno.test("readers use the stricter of two statements about one window", (t) =>
  steps(t, Object.entries(BODIES), ([_name, [kind, body, ...rows]]) => {
    assertWindows(parse(sourceOf(kind), body), rows);
  }));

const UNIFIED = "anthropic-ratelimit-unified";

/** Statuses of Anthropic beside shares of 95 %, 80 % and 99 %, and the expected shares. */
const STATUSES: Readonly<
  Record<string, [Record<string, string>, number, number, number]>
> = {
  "allowed": [{ status: "allowed" }, 95, 80, 99],
  "rejected by one window": [
    { "status": "rejected", "7d-status": "rejected" },
    ...[95, 100, 99] as const,
  ],
  "rejected by the window of the claim": [
    { "status": "rejected", "representative-claim": "five_hour" },
    ...[100, 80, 99] as const,
  ],
  "rejected by the window with overage": [
    {
      "status": "rejected",
      "representative-claim": "seven_day_overage_included",
    },
    ...[95, 80, 100] as const,
  ],
  "rejected by a window without a share": [
    { "status": "rejected", "representative-claim": "seven_day_opus" },
    ...[95, 80, 99] as const,
  ],
  "rejected without a claim": [{ status: "rejected" }, 95, 80, 100],
  "rejected, and paid as overage": [
    {
      "status": "rejected",
      "5h-status": "rejected",
      "overage-status": "allowed_warning",
    },
    ...[95, 80, 99] as const,
  ],
  "allowed beside a rejecting window": [
    { "status": "allowed", "5h-status": "rejected" },
    ...[95, 80, 99] as const,
  ],
};

Deno.test("anthropic headers of a rejected request name the window that stops it", (t) =>
  steps(t, Object.entries(STATUSES), ([_name, [statuses, ...shares]]) => {
    const [hours, week, overage] = shares;
    const headers = new Headers({
      [`${UNIFIED}-5h-utilization`]: "0.95",
      [`${UNIFIED}-7d-utilization`]: "0.8",
      [`${UNIFIED}-7d_oi-utilization`]: "0.99",
    });
    for (const [name, value] of Object.entries(statuses)) {
      headers.set(`${UNIFIED}-${name}`, value);
    }
    const row = (start: string, percent: number) =>
      `${start} percent 100 ${percent} ${100 - percent} ${percent}`;
    assertWindows(anthropic.headers?.parse(headers, 0), [
      row("USAGE_LIMIT five_hour", hours),
      row("USAGE_LIMIT weekly", week),
      row("USAGE_LIMIT:overage_included weekly", overage),
    ]);
  }));

Deno.test("codex headers of a reached limit name the fuller window of the main meter", (t) =>
  steps(
    t,
    [
      ["rate_limit_reached", 100],
      ["workspace_owner_credits_depleted", 98],
      ["", 98],
    ] as const,
    ([reason, week]) => {
      const headers = new Headers({
        "x-codex-primary-used-percent": "5",
        "x-codex-secondary-used-percent": "98",
        "x-codex-other-primary-used-percent": "99",
      });
      if (reason !== "") headers.set("x-codex-rate-limit-reached-type", reason);
      assertWindows(codexHeaders.parse(headers, 0), [
        "USAGE_LIMIT unknown percent 100 5 95 5",
        `USAGE_LIMIT unknown percent 100 ${week} ${100 - week} ${week}`,
        "USAGE_LIMIT:other unknown percent 100 99 1 99",
      ]);
    },
  ));
