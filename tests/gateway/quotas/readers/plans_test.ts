import assert from "node:assert/strict";
import {
  assertFailure,
  assertWindows,
  fixture,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";
import { steps } from "../../../support/steps.ts";
import { kimi } from "../../../../src/gateway/quotas/readers/kimi.ts";

const source = sourceOf("copilot", { quota: { key: "gho_token" } });

Deno.test("copilot sends GitHub the token of the quota, never the connection's key", () => {
  const [request] = requestsOf(source);
  assert.equal(request?.url, "https://api.github.com/copilot_internal/user");
  assert.equal(request?.headers["authorization"], "token gho_token");
  assertFailure(
    () => requestsOf(sourceOf("copilot")),
    "configuration_required",
  );
});

Deno.test("copilot sends its request to the quota's host", () => {
  const url = "https://api.tenant.ghe.com/copilot_internal/user";
  assert.equal(
    requestsOf(sourceOf("copilot", { quota: { url } }))[0]?.url,
    url,
  );
});

Deno.test("copilot reads credits with decimals and leaves out unlimited ones", () => {
  assertWindows(parse(source, fixture("copilot/credits")), [
    "CREDIT_LIMIT:premium_interactions monthly credits 7000 1750.5 5249.5 25.0071428571 2026-10-01T00:00:00.000Z",
  ]);
});

Deno.test("copilot counts overage above the allowance, and ignores meters of zeros", () => {
  assertWindows(parse(source, fixture("copilot/overage")), [
    "REQUESTS_LIMIT:premium_interactions monthly requests 300 330 0 110 2026-10-01T00:00:00.000Z",
    "REQUESTS_LIMIT:chat monthly percent 100 60 40 60 2026-10-01T00:00:00.000Z",
  ]);
});

Deno.test("copilot reads the remaining amounts in the free plan's older form", () => {
  assertWindows(parse(source, fixture("copilot/free")), [
    "REQUESTS_LIMIT:chat monthly requests 500 375 125 75 2026-02-01T00:00:00.000Z",
    "REQUESTS_LIMIT:completions monthly requests 300 225 75 75 2026-02-01T00:00:00.000Z",
  ]);
});

Deno.test("copilot recognizes an account without Copilot", () => {
  assertFailure(() => parse(source, { login: "someone" }), "no_plan");
});

const sourceKimi = sourceOf("kimi", { base: "https://api.kimi.com/coding/v1" });

Deno.test("kimi sends its request to the coding host, which answers 404 to a key without a plan", () => {
  assert.equal(
    requestsOf(sourceKimi)[0]?.url,
    "https://api.kimi.com/coding/v1/usages",
  );
  assert.equal(kimi.poll?.noPlanStatus, 404);
});

Deno.test("kimi reads counts written as text and completes them", () => {
  assertWindows(parse(sourceKimi, fixture("kimi/counts")), [
    "USAGE_LIMIT five_hour requests 200 19 181 9.5 2026-01-06T15:05:24.374Z",
    "USAGE_LIMIT unknown requests 10 4 6 40 2026-01-01T00:01:30.000Z",
    "USAGE_LIMIT weekly requests 2048 375 1673 18.310546875 2026-01-09T15:23:13.373Z",
  ]);
});

Deno.test("kimi treats a limit of 100 as percent", () => {
  assertWindows(parse(sourceKimi, fixture("kimi/percent_like")), [
    "USAGE_LIMIT five_hour percent 100 22 78 22",
    "USAGE_LIMIT weekly percent 100 45 55 45 2026-04-16T15:36:21.718Z",
  ]);
});

Deno.test("kimi prefers fractions to the counts beside them", () => {
  assertWindows(parse(sourceKimi, fixture("kimi/ratios")), [
    "USAGE_LIMIT five_hour fraction 1 0.4689 0.5311 46.89 2026-07-02T11:56:36.876Z",
    "USAGE_LIMIT weekly fraction 1 0.0946 0.9054 9.46 2026-07-09T06:56:36.000Z",
    "USAGE_LIMIT monthly fraction 1 1.02 0 102",
    "USAGE_LIMIT:code monthly fraction 1 0.2854 0.7146 28.54",
    "USAGE_LIMIT:something_else unknown fraction 1 0.5 0.5 50",
  ]);
});

Deno.test("kimi uses the stricter of two statements about one window", async (t) => {
  const ratios = (ratio: number) => ({
    limit_5h: { used_ratio: ratio },
    limit_7d_total: { used_ratio: ratio },
  });
  const count = (remaining: number) => ({
    usage: { limit: "100", remaining: String(remaining) },
    limits: [{
      window: { duration: 300, timeUnit: "TIME_UNIT_MINUTE" },
      detail: { limit: "100", remaining: String(remaining) },
    }],
  });
  const read = (body: object) =>
    parse(sourceKimi, body).map((one) => [one.window, one.used_percent]);
  const both = (percent: number | null) => [
    ["five_hour", percent],
    ["weekly", percent],
  ];
  const cases:
    readonly (readonly [left: number, ratio: number, used: number])[] = [
      [0, 0, 100],
      [100, 1, 100],
      [40, 0.5, 60],
      [60, 0.5, 50],
      [100, 0, 0],
    ];
  await steps(t, cases.map((one) => [String(one), one] as const), ([, one]) => {
    const [left, ratio, used] = one;
    const body = { ...count(left), usages: ratios(ratio) };
    assert.deepEqual(read(body), both(used));
    assert.deepEqual(read({ data: body }), both(used));
    return Promise.resolve();
  });
});

Deno.test("kimi reads each spelling of a window's unit", () => {
  const units = ["TIME_UNIT_MINUTE", "MINUTE", "minute", "minutes", "MINUTES"];
  for (const timeUnit of units) {
    const limits = [{
      window: { duration: 300, timeUnit },
      detail: { limit: 200, used: 19 },
    }];
    const [window] = parse(sourceKimi, { limits });
    assert.equal(window?.window, "five_hour", timeUnit);
  }
});

Deno.test("kimi treats an answer without windows as no data", () => {
  assertFailure(() => parse(sourceKimi, { usages: {} }), "unavailable");
});

const sourceMinimax = sourceOf("minimax", {
  base: "https://api.minimax.io/v1",
});

Deno.test("minimax sends requests to the region of the connection's host", () => {
  assert.equal(
    requestsOf(sourceMinimax)[0]?.url,
    "https://api.minimax.io/v1/token_plan/remains",
  );
});

Deno.test("minimax converts the remaining percent into the used one, and computes each length", () => {
  assert.deepEqual(parse(sourceMinimax, fixture("minimax/percent")), [
    // There are four hours between its start and its end.
    windowOf(
      "USAGE_LIMIT four_hour percent 100 0 100 0 2026-06-21T16:00:00.000Z",
    ),
    // Exhausted (status 2) is shown; a boost changes the whole, not the share.
    windowOf(
      "USAGE_LIMIT weekly percent 100 100 0 100 2026-06-21T16:00:00.000Z",
    ),
  ]);
});

Deno.test("minimax decides by the percent whether a count is used or remaining", () => {
  assert.deepEqual(parse(sourceMinimax, fixture("minimax/counts")), [
    windowOf(
      "USAGE_LIMIT:minimax-m2 four_hour requests 1000 100 900 10 2026-06-01T06:00:00.000Z",
    ),
    windowOf(
      "USAGE_LIMIT:minimax-m2 weekly requests 100 40 60 40 2026-01-01T00:01:00.000Z",
    ),
    // Without a percent the count is the remaining one, as on most hosts.
    windowOf("USAGE_LIMIT:minimax-m3 unknown requests 300 180 120 60"),
    // A count that contradicts the percent has no meaning.
    windowOf("USAGE_LIMIT:minimax-m3 weekly percent 100 50 50 50"),
  ]);
});

Deno.test("minimax reads a used-up status as used up, whatever share is beside it", () => {
  const read = (row: object) =>
    parse(sourceOf("minimax"), {
      model_remains: [{ model_name: "general", ...row }],
    }).map((one) => one.used_percent);
  const share = { current_weekly_remaining_percent: 4 };
  const count = {
    current_weekly_total_count: 100,
    current_weekly_usage_count: 4,
  };
  for (const row of [share, count, { ...share, ...count }]) {
    assert.deepEqual(read({ ...row, current_weekly_status: 2 }), [100]);
    assert.deepEqual(read({ ...row, current_weekly_status: 1 }), [96]);
  }
});

Deno.test("minimax reads an error with status 200", async (t) => {
  const reasons = {
    1002: "rate_limited",
    1004: "unauthorized",
    2049: "unauthorized",
    2062: "no_plan",
    1008: "no_plan",
    1000: "unavailable",
  } as const;
  for (const [code, reason] of Object.entries(reasons)) {
    await t.step(`${code} is ${reason}`, () => {
      const body = { base_resp: { status_code: Number(code) } };
      assertFailure(() => parse(sourceMinimax, body), reason);
    });
  }
});

Deno.test("minimax treats an answer without meters as no data", () => {
  const body = { base_resp: { status_code: 0 }, model_remains: null };
  assertFailure(() => parse(sourceMinimax, body), "unavailable");
});

const sourceSynthetic = sourceOf("synthetic", {
  base: "https://api.synthetic.new/openai/v1",
});

Deno.test("synthetic sends requests to the connection's host", () => {
  assert.equal(
    requestsOf(sourceSynthetic)[0]?.url,
    "https://api.synthetic.new/v2/quotas",
  );
});

Deno.test("synthetic reads dollars with a dollar sign, and ignores ticks", () => {
  assertWindows(parse(sourceSynthetic, fixture("synthetic/quotas")), [
    "REQUESTS_LIMIT five_hour requests 750 150 600 20",
    "SPEND_LIMIT weekly USD 1036 20.2 1015.8 1.95",
    "REQUESTS_LIMIT:search hourly requests 250 2 248 0.8 2026-04-17T04:30:01.494Z",
    "REQUESTS_LIMIT:subscription unknown requests 135 140.5 0 104.074074074 2026-04-17T06:00:00.000Z",
  ]);
});

Deno.test("synthetic rejects a meter of an unknown form", () => {
  const meters = [
    7,
    { max: "many" },
    { max: 750, remaining: 600, limited: "yes" },
  ];
  assertFailure(() => parse(sourceSynthetic, { data: 7 }), "invalid_response");
  for (const rollingFiveHourLimit of meters) {
    const body = { data: { rollingFiveHourLimit } };
    assertFailure(() => parse(sourceSynthetic, body), "invalid_response");
  }
});

Deno.test("synthetic treats an answer without meters as no data", () => {
  assertFailure(
    () => parse(sourceSynthetic, { plan: "Starter" }),
    "unavailable",
  );
});
