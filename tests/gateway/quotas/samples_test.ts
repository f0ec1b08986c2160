/** Recorded answers of real providers, field by field, if the recordings are beside the repository. */
import assert from "node:assert/strict";
import type { QuotaFailure } from "../../../src/gateway/quotas/failure.ts";
import type { QuotaSource } from "../../../src/gateway/quotas/readers/reader.ts";
import { connectionFile, minimalConfig } from "../../support/gateway/config.ts";
import { steps } from "../../support/steps.ts";
import {
  assertFailure,
  assertWindows,
  fixture,
  parse,
  sample,
  sampleNames,
  sourceOf,
} from "./quota_case.ts";

/**
 * A recorded answer with its reader and its meaning. The reader is a kind of quota, or the windows of a `json` quota.
 * The meaning is the rows of `windowOf`, or the reason of the failure.
 */
type SampleCase = readonly [
  file: string,
  reader: Parameters<typeof sourceOf>[0] | readonly object[],
  expected: readonly string[] | QuotaFailure["reason"],
  more?: {
    readonly success?: object;
    readonly unauthorized?: object;
    /** The body of the previous call, from the fixtures. */
    readonly before?: string;
  },
];

const ZAI: readonly SampleCase[] = [
  ["zai/quota-limit.lite.tokens-absolute.2026-02.json", "zai", [
    "TIME_LIMIT monthly requests 100 20 80 20",
    "TOKENS_LIMIT five_hour tokens 40000000 13050812 26949188 32.62703 2026-02-08T15:38:09.893Z",
  ]],
  ["zai/quota-limit.lite.credit.2026-08-13.json", "zai", [
    "CREDIT_LIMIT five_hour credits 2000 0 2000 0",
    "CREDIT_LIMIT weekly credits 10000 9855 145 98.55 2026-08-14T05:34:39.998Z",
  ]],
  ["zai/quota-limit.pro.tokens-and-time.2026-06-29.json", "bigmodel", [
    "TOKENS_LIMIT five_hour percent 100 17 83 17 2026-06-29T09:22:51.179Z",
    "TOKENS_LIMIT weekly percent 100 3 97 3 2026-07-06T02:38:06.997Z",
    "TIME_LIMIT monthly requests 1000 0 1000 0 2026-07-29T02:38:06.976Z",
  ]],
  // Another call's answer, which has no quota.
  ["zai/subscription-list.pro.json", "zai", "invalid_response"],
];

const PLANS: readonly SampleCase[] = [
  ["anthropic/oauth-usage.limits-array.2026-07-03.json", "anthropic", [
    "USAGE_LIMIT five_hour percent 100 11 89 11 2026-07-03T00:30:00.282Z",
    "USAGE_LIMIT weekly percent 100 9 91 9 2026-07-08T09:00:00.282Z",
    "USAGE_LIMIT:fable weekly percent 100 5 95 5 2026-07-08T09:00:00.283Z",
  ]],
  ["openai/wham-usage.business-individual-limit.sanitized.json", "codex", [
    "SPEND_LIMIT unknown percent 100 0 100 0 2026-08-01T00:00:00.000Z",
  ]],
  ["openai/wham-usage.business-team-monthly.sanitized.json", "codex", [
    "USAGE_LIMIT monthly percent 100 33 67 33 2026-08-09T08:02:28.000Z",
  ]],
  ["kimi/coding-v1-usages.json", "kimi", [
    "USAGE_LIMIT five_hour requests 200 19 181 9.5 2026-01-06T15:05:24.374Z",
    "USAGE_LIMIT weekly requests 2048 375 1673 18.310546875 2026-01-09T15:23:13.373Z",
  ]],
  ["copilot/copilot_internal_user.snapshots.json", "copilot", [
    "REQUESTS_LIMIT:premium_interactions monthly requests 500 50 450 10 2025-02-01T00:00:00.000Z",
    "REQUESTS_LIMIT:chat monthly requests 300 150 150 50 2025-02-01T00:00:00.000Z",
  ]],
  ["copilot/copilot_internal_user.free-limited.json", "copilot", [
    "REQUESTS_LIMIT:chat monthly requests 500 375 125 75",
    "REQUESTS_LIMIT:completions monthly requests 300 225 75 75",
  ]],
  ["synthetic/v2-quotas.json", "synthetic", [
    "REQUESTS_LIMIT five_hour requests 750 150 600 20",
    "SPEND_LIMIT weekly USD 36 0.7 35.3 1.94115277778",
    "REQUESTS_LIMIT:search hourly requests 250 2 248 0.8 2026-04-17T04:30:01.494Z",
  ]],
];

const MINIMAX: readonly SampleCase[] = [
  ["minimax/token-plan-normal.json", "minimax", [
    "USAGE_LIMIT five_hour percent 100 4 96 4 2026-06-01T07:00:00.000Z",
    "USAGE_LIMIT weekly percent 100 1 99 1 2026-06-07T16:00:00.000Z",
  ]],
  ["minimax/remains.weekly-status-3.json", "minimax", [
    "USAGE_LIMIT five_hour percent 100 1 99 1 2026-06-02T02:00:00.000Z",
    "USAGE_LIMIT:video unknown percent 100 0 100 0",
  ]],
  ["minimax/remains.general-and-video.boosted.json", "minimax", [
    "USAGE_LIMIT four_hour percent 100 0 100 0 2026-06-21T16:00:00.000Z",
    "USAGE_LIMIT weekly percent 100 30 70 30 2026-06-21T16:00:00.000Z",
  ]],
  ["minimax/token-plan-missing-reset.json", "minimax", [
    "USAGE_LIMIT unknown requests 100 25 75 25",
    "USAGE_LIMIT weekly requests 100 40 60 40",
  ]],
  ["minimax/remains.percent-only.json", "minimax", [
    "USAGE_LIMIT five_hour percent 100 4 96 4 2026-06-01T07:00:00.000Z",
    "USAGE_LIMIT weekly percent 100 1 99 1 2026-06-07T16:00:00.000Z",
  ]],
];

const GATEWAYS: readonly SampleCase[] = [
  ["gateways/sub2api.v1-usage.subscription.json", "sub2api", [
    "SPEND_LIMIT daily USD 10 2 8 20",
    "SPEND_LIMIT weekly USD 40 10 30 25",
    "SPEND_LIMIT monthly USD 100 30 70 30",
  ]],
  ["gateways/sub2api.v1-usage.quota-limited.json", "sub2api", [
    "SPEND_LIMIT total USD 100 25 75 25",
    "SPEND_LIMIT five_hour USD 20 5 15 25 2026-07-11T12:30:00.000Z",
    "SPEND_LIMIT weekly USD 200 40 160 20",
  ]],
  ["gateways/litellm.user-info.json", "litellm", [
    "SPEND_LIMIT total USD - 212.25 - -",
    "SPEND_LIMIT:user total USD 300 212.3537162499998 87.64628375 70.7845720833",
    "SPEND_LIMIT:team weekly USD 1000 215.3245658499998 784.67543415 21.532456585 2026-06-15T00:00:00.000Z",
  ], { before: "litellm/key_of_team_456" }],
];

const TOKEN_PLAN = "/data/DataV2/data/data";

const ALIBABA_TOKEN_PLAN = [{
  type: "CREDIT_LIMIT",
  period: "5h",
  unit: "fraction",
  at: TOKEN_PLAN,
  share: { at: "/per5HourPercentage", of: "used_fraction" },
  resets_at: { at: "/per5HourResetTime", format: "epoch_ms" },
}, {
  type: "CREDIT_LIMIT",
  period: "7d",
  unit: "percent",
  at: TOKEN_PLAN,
  share: { at: "/per1WeekPercentage", of: "used_fraction" },
  resets_at: { at: "/per1WeekResetTime", format: "epoch_ms" },
}];

const ALIBABA_EQUITY = [{
  type: "CREDIT_LIMIT",
  unit: "credits",
  at: "/data/Data/0/EquityList",
  where: { Type: "CREDITS" },
  limit: "/CycleTotalValue",
  remaining: "/CycleSurplusValue",
}];

const ALIBABA: readonly SampleCase[] = [
  ["alibaba/AlibabaTokenPlan.personal_usage.json", ALIBABA_TOKEN_PLAN, [
    "CREDIT_LIMIT five_hour fraction 1 0.000997308333333 0.999002691667 0.0997308333333 2026-07-23T13:27:00.000Z",
    "CREDIT_LIMIT weekly percent 100 0.03014725 99.96985275 0.03014725 2026-07-28T10:35:00.000Z",
  ], { success: { at: "/successResponse", in: [true] } }],
  [
    "alibaba/AlibabaTokenPlan.personal_subscription.json",
    ALIBABA_TOKEN_PLAN,
    "invalid_response",
  ],
  ["alibaba/AlibabaTokenPlan.personal_quota_config.json", [{
    type: "CREDIT_LIMIT",
    period: "5h",
    unit: "credits",
    at: `${TOKEN_PLAN}/pro`,
    limit: "/five_hour",
  }], ["CREDIT_LIMIT five_hour credits 12000 - - -"]],
  // The resets are long past; they are reported as the provider reports them.
  [
    "alibaba/coding-plan.queryCodingPlanInstanceInfoV2.json",
    [
      ["5h", "per5Hour"],
      ["7d", "perWeek"],
      ["1mo", "perBillMonth"],
    ].map(([period, name]) => ({
      type: "REQUESTS_LIMIT",
      period,
      unit: "requests",
      at: "/data/codingPlanQuotaInfo",
      limit: `/${name}TotalQuota`,
      used: `/${name}UsedQuota`,
      resets_at: { at: `/${name}QuotaNextRefreshTime`, format: "epoch_ms" },
    })),
    [
      "REQUESTS_LIMIT five_hour requests 1000 52 948 5.2 2023-11-14T22:18:20.000Z",
      "REQUESTS_LIMIT weekly requests 5000 800 4200 16 2023-11-16T02:00:00.000Z",
      "REQUESTS_LIMIT monthly requests 20000 1200 18800 6 2023-11-26T12:00:00.000Z",
    ],
  ],
  [
    "alibaba/QwenCloud.flat_subscription_summary.json",
    [{
      type: "CREDIT_LIMIT",
      period: "total",
      unit: "credits",
      at: "/Data",
      limit: "/TotalValue",
      remaining: "/TotalSurplusValue",
    }],
    ["CREDIT_LIMIT total credits 2000 500 1500 25"],
    { success: { at: "/Success", in: [true] } },
  ],
  ["alibaba/QwenCloud.nested_equity_list.json", ALIBABA_EQUITY, [
    "CREDIT_LIMIT unknown credits 1000 125 875 12.5",
  ]],
  [
    "alibaba/QwenCloud.no_active_subscription.json",
    ALIBABA_EQUITY,
    "unavailable",
    { success: { at: "/data/Data/TotalCount", in: [1] } },
  ],
  ["alibaba/QwenCloud.login_required.json", ALIBABA_EQUITY, "unauthorized", {
    unauthorized: { at: "/code", in: ["ConsoleNeedLogin"] },
  }],
  ["alibaba/QwenCloud.forbidden.json", ALIBABA_EQUITY, "unauthorized", {
    unauthorized: { at: "/statusCode", in: [401, 403] },
  }],
];

function volcengineLevels(at: string): object[] {
  return [["5h", "session"], ["7d", "weekly"], ["1mo", "monthly"]]
    .map(([period, Level]) => ({
      type: "USAGE_LIMIT",
      period,
      unit: "percent",
      at,
      where: { Level },
      share: { at: "/Percent", of: "used_percent" },
      resets_at: { at: "/ResetTimestamp", format: "epoch_seconds" },
    }));
}

const OTHERS: readonly SampleCase[] = [
  [
    "volcengine/GetCodingPlanUsage.Result.2026-06-21.json",
    volcengineLevels("/QuotaUsage"),
    [
      "USAGE_LIMIT five_hour percent 100 0 100 0",
      "USAGE_LIMIT weekly percent 100 1.672568 98.327432 1.672568 2026-06-21T16:00:00.000Z",
      "USAGE_LIMIT monthly percent 100 0.836284 99.163716 0.836284 2026-07-17T15:59:59.000Z",
    ],
    { success: { at: "/Status", in: ["Running"] } },
  ],
  // 0.116 is percent, however much it looks like a fraction.
  [
    "volcengine/GetCodingPlanUsage.json",
    volcengineLevels("/Result/QuotaUsage"),
    [
      "USAGE_LIMIT five_hour percent 100 0.116 99.884 0.116 2026-06-23T14:54:38.000Z",
      "USAGE_LIMIT weekly percent 100 3.182143 96.817857 3.182143 2026-06-28T16:00:00.000Z",
      "USAGE_LIMIT monthly percent 100 7.5730535 92.4269465 7.5730535 2026-06-25T15:59:59.000Z",
    ],
  ],
  [
    "volcengine/GetAFPUsage.Result.official-example.json",
    [
      ["5h", "AFPFiveHour"],
      ["1d", "AFPDaily"],
      ["7d", "AFPWeekly"],
      ["1mo", "AFPMonthly"],
    ].map(([period, name]) => ({
      type: "CREDIT_LIMIT",
      period,
      unit: "credits",
      at: `/${name}`,
      limit: "/Quota",
      used: "/Used",
      resets_at: { at: "/ResetTime", format: "epoch_ms" },
    })),
    [
      "CREDIT_LIMIT five_hour credits 50 12.5 37.5 25 2026-05-15T01:00:00.000Z",
      "CREDIT_LIMIT daily credits 100 22.5 77.5 22.5 2026-05-15T00:00:00.000Z",
      "CREDIT_LIMIT weekly credits 500 150 350 30 2026-05-18T00:00:00.000Z",
      "CREDIT_LIMIT monthly credits 2000 850.5 1149.5 42.525 2026-06-04T00:00:00.000Z",
    ],
  ],
  ["xai/supergrok-weekly.json", [{
    type: "CREDIT_LIMIT",
    period: "7d",
    unit: "percent",
    at: "/config",
    share: { at: "/creditUsagePercent", of: "used_percent" },
    resets_at: { at: "/currentPeriod/end", format: "iso" },
  }], [
    "CREDIT_LIMIT weekly percent 100 5 95 5 2026-07-20T02:24:00.983Z",
  ]],
  ["xai/subscriptions-heavy.sanitized.json", [{
    type: "CREDIT_LIMIT",
    unit: "percent",
    share: { at: "/config/creditUsagePercent", of: "used_percent" },
  }], "invalid_response"],
  ["chutes/subscription_usage.json", [{
    type: "REQUESTS_LIMIT",
    period: "4h",
    unit: "requests",
    at: "/rolling_window",
    limit: "/limit",
    used: "/requests",
    resets_at: { at: "/reset_at", format: "iso" },
  }, {
    type: "CREDIT_LIMIT",
    period: "1mo",
    unit: "credits",
    at: "/monthly",
    limit: "/limit",
    used: "/used",
    resets_at: { at: "/resets_at", format: "iso" },
  }], [
    "REQUESTS_LIMIT four_hour requests 100 40 60 40 2026-06-13T18:00:00.000Z",
    "CREDIT_LIMIT monthly credits 1000 250 750 25 2026-07-01T00:00:00.000Z",
  ]],
  [
    "kimi/web-GetSubscriptionStats.json",
    [["5h", "ratelimitCode5h"], ["7d", "ratelimitCode7d"]]
      .map(([period, name]) => ({
        type: "USAGE_LIMIT",
        period,
        unit: "fraction",
        at: `/${name}`,
        share: { at: "/ratio", of: "used_fraction" },
        resets_at: { at: "/resetTime", format: "iso" },
      })),
    [
      "USAGE_LIMIT five_hour fraction 1 0.4689 0.5311 46.89 2026-07-02T11:56:36.876Z",
      "USAGE_LIMIT weekly fraction 1 0.0946 0.9054 9.46 2026-07-09T06:56:36.876Z",
    ],
  ],
  ["kimi/web-GetUsages.json", [{
    type: "USAGE_LIMIT",
    period: "5h",
    unit: "requests",
    at: "/usages/0/limits/0/detail",
    limit: "/limit",
    used: "/used",
    resets_at: { at: "/resetTime", format: "iso" },
  }], [
    "USAGE_LIMIT five_hour requests 200 200 0 100 2026-01-06T15:05:24.374Z",
  ]],
];

const CASES = [
  ...ZAI,
  ...PLANS,
  ...MINIMAX,
  ...GATEWAYS,
  ...ALIBABA,
  ...OTHERS,
];

async function sourceOfCase(
  [, windows, , more = {}]: SampleCase,
): Promise<QuotaSource> {
  if (typeof windows === "string") return sourceOf(windows);
  const { success, unauthorized } = more;
  const url = "https://quota.example/usage";
  const quota = { kind: "json", url, windows, success, unauthorized };
  const config = await minimalConfig({
    connections: [connectionFile({ quota })],
  });
  const [connection] = config.connections;
  assert.ok(connection?.quota);
  return { connection, quota: connection.quota };
}

const names = sampleNames();
const ignore = names.length === 0;
const reason = ignore ? " (ignored: there are no recordings here)" : "";

Deno.test({
  name: `every recorded quota answer is read field by field${reason}`,
  ignore,
  async fn(t) {
    await steps(t, CASES, async (one) => {
      const [file, , expected, { before } = {}] = one;
      const source = await sourceOfCase(one);
      const bodies = [...(before ? [fixture(before)] : []), sample(file)];
      if (typeof expected === "string") {
        assertFailure(() => parse(source, ...bodies), expected);
      } else assertWindows(parse(source, ...bodies), expected);
    });
  },
});

Deno.test({
  name: `every recorded quota answer has a case${reason}`,
  ignore,
  fn() {
    assert.deepEqual(CASES.map(([file]) => file).toSorted(), names);
  },
});
