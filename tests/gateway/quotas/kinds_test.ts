import assert from "node:assert/strict";
import { callerOf, configWith, createHarness } from "./service_harness.ts";
import { connectionOf } from "./quota_case.ts";
import { minimalConfig, NOW_MS } from "../../support/gateway/config.ts";
import { nameParts } from "../../../src/page/wording/words.js";
import {
  limitsModels,
  QUOTA_TYPES,
  quotaWindow,
} from "../../../src/gateway/quotas/window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import type { Connection } from "../../../src/gateway/config/config.ts";
import {
  codexHeaders,
  createCodexQuota,
} from "../../../src/gateway/quotas/codex_quota.ts";
import {
  period,
  periodMinutes,
  TOTAL,
} from "../../../src/gateway/quotas/period.ts";
import { codexHeaders as codexReader } from "../../../src/gateway/quotas/readers/codex.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";

Deno.test("known() returns the cached quota without a request, and exhausted windows even after the cache has expired", async () => {
  const { service, calls, clock } = createHarness();
  const one = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  assert.deepEqual(service.known(one), []);
  assert.equal(calls.length, 0);
  const list = await service.read(callerOf(one), await configWith(one));
  assert.ok(list.data[0]?.limits.length);
  assert.deepEqual(service.known(one), list.data[0]?.limits);
  assert.deepEqual(service.known({ ...one, enabled: false }), []);
  assert.deepEqual(service.known({ ...one, quota: undefined }), []);
  clock.advance(60_000);
  const exhausted = list.data[0]?.limits.filter((window) =>
    (window.used_percent ?? 0) >= 100
  );
  assert.equal(exhausted?.length, 1);
  assert.deepEqual(service.known(one), exhausted);
  assert.equal(calls.length, 1);
});

Deno.test("known() returns nothing for a quota that could not be read", async () => {
  const { service, scripts } = createHarness();
  const one = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  scripts.set("one.example", () => new Response(null, { status: 500 }));
  await service.read(callerOf(one), await configWith(one));
  assert.deepEqual(service.known(one), []);
});

/** Returns Z.ai's answer with one window, which resets two hours after the start of the test. */
function fiveHours(percentage: number) {
  return () =>
    Response.json({
      code: 200,
      success: true,
      data: {
        limits: [{
          type: "TOKENS_LIMIT",
          unit: 3,
          number: 5,
          percentage,
          nextResetTime: RESET_MS,
        }],
      },
    });
}

const RESET_MS = NOW_MS + 7_200_000;

async function readOnce(percentage: number) {
  const harness = createHarness();
  const { service, scripts } = harness;
  const one = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  const config = await configWith(one);
  scripts.set("one.example", fiveHours(percentage));
  await service.read(callerOf(one), config);
  const percents = () =>
    service.known(one).map((reported) => reported.used_percent);
  return { ...harness, one, config, percents };
}

Deno.test("known() remembers an exhausted window until its reset", async () => {
  const { percents, clock, calls } = await readOnce(100);
  assert.deepEqual(percents(), [100]);
  clock.advance(RESET_MS - NOW_MS - 1);
  assert.deepEqual(percents(), [100]);
  clock.advance(1);
  assert.deepEqual(percents(), []);
  assert.equal(calls.length, 1);
});

Deno.test("known() remembers an exhausted window over failed readings, until a reading shows room", async () => {
  const { percents, clock, scripts, service, one, config } = await readOnce(
    100,
  );
  clock.advance(60_000);
  scripts.set("one.example", () => new Response(null, { status: 500 }));
  await service.read(callerOf(one), config);
  assert.deepEqual(percents(), [100]);
  clock.advance(60_000);
  scripts.set("one.example", fiveHours(20));
  await service.read(callerOf(one), config);
  assert.deepEqual(percents(), [20]);
  clock.advance(60_000);
  assert.deepEqual(percents(), []);
});

Deno.test("known() remembers an exhausted window over a reload if the connection keeps its credential", async () => {
  const { clock, service, one } = await readOnce(100);
  clock.advance(60_000);
  const same = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  assert.equal(service.known(same)[0]?.used_percent, 100);
  const auth = { scheme: "bearer", key: "another key" } as const;
  assert.deepEqual(service.known({ ...one, auth }), []);
});

Deno.test("known() remembers an exhausted window that later answers leave out", () => {
  const { service, harvest, clock } = createHarness();
  const one = connectionOf("codex", { name: "one" });
  const reported = (window: string, percent: number) => ({
    [`x-codex-${window}-used-percent`]: String(percent),
    [`x-codex-${window}-window-minutes`]: window === "primary"
      ? "300"
      : "10080",
    [`x-codex-${window}-reset-after-seconds`]: "7200",
  });
  const percents = () =>
    service.known(one).map((window) => window.used_percent)
      .sort();
  harvest.observe(
    one,
    new Headers({ ...reported("primary", 30), ...reported("secondary", 100) }),
  );
  assert.deepEqual(percents(), [100, 30]);
  clock.advance(60_000);
  harvest.observe(one, new Headers(reported("primary", 40)));
  assert.deepEqual(percents(), [100, 40]);
  harvest.observe(one, new Headers(reported("secondary", 10)));
  assert.deepEqual(percents(), [10]);
});

Deno.test("each type of quota has its own word in texts", () => {
  const words = Object.values(QUOTA_TYPES).map((type) =>
    nameParts({
      type,
      window: "unknown",
      unit: "unknown",
      period_unit: null,
      period_count: null,
      limit: null,
      used: null,
      remaining: null,
      used_percent: null,
      resets_at: null,
    })[0]
  );
  assert.deepEqual(words, [
    "quota",
    "credits",
    "tokens",
    "requests",
    "money",
    "balance",
    "tool calls",
  ]);
});

Deno.test("limitsModels() returns false only for calls of a plan's tools", () => {
  const others = Object.values(QUOTA_TYPES)
    .filter((type) => !limitsModels({ type }));
  assert.deepEqual(others, [QUOTA_TYPES.toolCalls]);
  assert.ok(limitsModels({ type: "A_PROVIDERS_OWN" }));
});

const RESET = "2026-11-22T07:19:00.000Z";

function usage(
  length: ReturnType<typeof period>,
  percent: number | null,
  type: string = QUOTA_TYPES.usage,
): QuotaWindow {
  return quotaWindow({
    type,
    unit: "percent",
    period: length,
    usedPercent: percent,
    resetsAt: RESET,
  });
}

const FIVE_HOURS = period(5, "hour");
const WEEK = period(1, "week");

Deno.test("codexHeaders() reports the shortest window of at least an hour as primary and the longest as secondary", () => {
  const headers = codexHeaders([
    usage(WEEK, 12.5),
    usage(period(1, "minute"), 99, QUOTA_TYPES.requests),
    usage(period(1, "day"), 50),
    usage(FIVE_HOURS, 42),
  ]);
  assert.deepEqual(headers, [
    ["x-codex-primary-used-percent", "42"],
    ["x-codex-primary-window-minutes", "300"],
    ["x-codex-primary-reset-at", "1795331940"],
    ["x-codex-secondary-used-percent", "12.5"],
    ["x-codex-secondary-window-minutes", "10080"],
    ["x-codex-secondary-reset-at", "1795331940"],
  ]);
});

Deno.test("codexHeaders() writes headers that the reader of Codex's headers accepts", () => {
  const windows = [usage(FIVE_HOURS, 42), usage(WEEK, 101)];
  const read = codexReader.parse(new Headers(codexHeaders(windows)), 0);
  assert.deepEqual(read, windows);
});

Deno.test("codexHeaders() omits a missing secondary window, and reports the tighter of two equally long ones", () => {
  const reported = (windows: readonly QuotaWindow[]) =>
    Object.fromEntries(codexHeaders(windows));
  assert.deepEqual(Object.keys(reported([usage(WEEK, 1)])), [
    "x-codex-primary-used-percent",
    "x-codex-primary-window-minutes",
    "x-codex-primary-reset-at",
  ]);
  const two = reported([usage(WEEK, 1), usage(WEEK, 90, QUOTA_TYPES.requests)]);
  assert.equal(two["x-codex-primary-used-percent"], "90");
  assert.equal(two["x-codex-secondary-used-percent"], undefined);
});

Deno.test("codexHeaders() omits windows of single models, tools, balances and unknown use", () => {
  const balance = quotaWindow({
    type: QUOTA_TYPES.balance,
    unit: "USD",
    period: TOTAL,
    remaining: 3,
    resetsAt: null,
  });
  assert.deepEqual(
    codexHeaders([
      balance,
      usage(WEEK, 80, "USAGE_LIMIT:opus"),
      usage(FIVE_HOURS, 80, "TIME_LIMIT"),
      usage(FIVE_HOURS, null),
      usage(period(59, "minute"), 80),
    ]),
    [],
  );
});

Deno.test("codexHeaders() omits an unknown reset", () => {
  const window = { ...usage(WEEK, 3), resets_at: null };
  assert.deepEqual(codexHeaders([window]).map(([name]) => name), [
    "x-codex-primary-used-percent",
    "x-codex-primary-window-minutes",
  ]);
});

Deno.test("periodMinutes() returns the minutes of every known unit, and undefined for others", () => {
  const minutes = (count: number | null, unit: number | null) =>
    periodMinutes({ period_count: count, period_unit: unit });
  assert.equal(minutes(90, period(1, "minute").unit), 90);
  assert.equal(minutes(5, period(1, "hour").unit), 300);
  assert.equal(minutes(2, period(1, "day").unit), 2880);
  assert.equal(minutes(1, period(1, "week").unit), 10_080);
  assert.equal(minutes(1, period(1, "month").unit), 43_200);
  assert.equal(minutes(0, period(1, "month").unit), undefined);
  assert.equal(minutes(1, period(1, "year").unit), 525_600);
  assert.equal(minutes(1, 99), undefined);
  assert.equal(minutes(null, period(1, "hour").unit), undefined);
  assert.equal(minutes(null, null), undefined);
});

Deno.test("headersOf() reads each connection's known quota at most once a second", async () => {
  const { connections: [first] } = await minimalConfig();
  assert.ok(first);
  const other = { ...first, id: "other" };
  const clock = createFakeClock(0);
  let percent = 1;
  const asked: Connection[] = [];
  const quota = createCodexQuota({
    clock,
    quotas: {
      known(connection) {
        asked.push(connection);
        return connection === first ? [usage(WEEK, percent)] : [];
      },
    },
  });
  const used = () => quota.headersOf(first)[0]?.[1];
  assert.equal(used(), "1");
  percent = 2;
  clock.advance(999);
  assert.equal(used(), "1");
  assert.deepEqual(quota.headersOf(other), []);
  clock.advance(1);
  assert.equal(used(), "2");
  assert.deepEqual(asked, [first, other, first]);
});
