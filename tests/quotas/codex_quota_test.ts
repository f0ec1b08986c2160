import assert from "node:assert/strict";
import type { Connection } from "../../src/config/config.ts";
import {
  codexHeaders,
  createCodexQuota,
} from "../../src/quotas/codex_quota.ts";
import { period, periodMinutes, TOTAL } from "../../src/quotas/period.ts";
import { codexHeaders as codexReader } from "../../src/quotas/readers/codex.ts";
import {
  QUOTA_TYPES,
  type QuotaWindow,
  quotaWindow,
} from "../../src/quotas/window.ts";
import { minimalConfig } from "../support/gateway/config.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";

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

Deno.test("codexHeaders() reports the shortest window of an hour and more as the primary one, the longest as the secondary", () => {
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

Deno.test("codexHeaders() reports one window alone, and of two of one length the tighter", () => {
  const reported = (windows: readonly QuotaWindow[]) =>
    Object.fromEntries(codexHeaders(windows));
  assert.deepEqual(Object.keys(reported([usage(WEEK, 1)])), [
    "x-codex-primary-used-percent",
    "x-codex-primary-window-minutes",
    "x-codex-primary-reset-at",
  ]);
  const two = reported([
    usage(WEEK, 1),
    usage(WEEK, 90, QUOTA_TYPES.requests),
  ]);
  assert.equal(two["x-codex-primary-used-percent"], "90");
  assert.equal(two["x-codex-secondary-used-percent"], undefined);
});

Deno.test("codexHeaders() leaves out parts, tools, balances and windows of unknown use", () => {
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

Deno.test("codexHeaders() writes no unknown reset", () => {
  const window = { ...usage(WEEK, 3), resets_at: null };
  assert.deepEqual(codexHeaders([window]).map(([name]) => name), [
    "x-codex-primary-used-percent",
    "x-codex-primary-window-minutes",
  ]);
});

Deno.test("periodMinutes() recognizes every unit of its own, and no foreign one", () => {
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

Deno.test("headersOf() reads the known quota once a second at most, for each connection", async () => {
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
