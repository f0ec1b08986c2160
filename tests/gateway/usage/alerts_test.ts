import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createAlerts } from "../../../src/gateway/usage/alerts.ts";
import type { Bound } from "../../../src/gateway/usage/bounds.ts";
import { amountState } from "../../../src/gateway/usage/limiter.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import type { Sums } from "../../../src/gateway/usage/sums.ts";
import { minimalConfig, NOW_MS } from "../../support/gateway/config.ts";
import { settle } from "../../support/settle.ts";

const HOUR_MS = 3_600_000;

/** Opens the alerts of several threads with shared memory of sent alerts, and notes the received ones. */
async function openThreads(count = 1) {
  const config = await minimalConfig({
    alerts: { webhook: "https://chat.example/hook" },
  });
  const [caller] = config.callers.values();
  assert.ok(caller !== undefined);
  const memory = createMemorySums({ now: () => NOW_MS, elapsedMs: () => 0 });
  // The main thread or a store answers later.
  const sums: Pick<Sums, "once"> = {
    once: async (...name) => {
      await Promise.resolve();
      return memory.once(...name);
    },
  };
  const sent: JsonObject[] = [];
  const threads = Array.from({ length: count }, () =>
    createAlerts({
      ...{ sums, liveConfig: createLiveConfig(config), now: () => NOW_MS },
      sender: { send: (alert) => sent.push(alert) },
    }));
  /** Reports this many used requests of 100 in an hour. */
  const note = (
    used: number,
    resetsAtMs = NOW_MS + HOUR_MS,
    bound = BOUND,
  ) => {
    for (const thread of threads) {
      thread.noteLimits([amountState(bound, resetsAtMs, used)], caller);
    }
  };
  /** Reports this used percentage of a provider's window. */
  const noteQuota = (used_percent: number, resetsAtMs: number) => {
    const resets_at = new Date(resetsAtMs).toISOString();
    const limits = [{ ...WINDOW, used_percent, resets_at }];
    for (const thread of threads) {
      thread.noteQuotas({ data: [{ ...READ, limits }] });
    }
  };
  const thresholds = () => sent.map(({ threshold }) => threshold);
  const settled = () => Promise.all(threads.map((one) => one.settled()));
  return { note, noteQuota, sent, thresholds, settled };
}

const WINDOW = {
  ...{ type: "USAGE_LIMIT", window: "weekly", unit: "percent" },
  ...{ period_unit: null, period_count: null },
  ...{ limit: null, used: null, remaining: null },
};

const READ = {
  ...{ name: "GLM team", provider_id: "a", service: "zai" },
  ...{ status: "ok" as const, cached: false, checked_at: "2026-01-01" },
};

const BOUND: Extract<Bound, { kind: "amount" }> = {
  kind: "amount",
  holder: { kind: "token", name: "alice" },
  limit: {
    ...{ kind: "amount", window: "hour", unit: "requests", most: 100 },
    ...{ models: undefined, connections: undefined },
  },
};

Deno.test("each crossed threshold causes one alert a window, in rising order", async () => {
  const { note, sent, thresholds } = await openThreads();
  note(79);
  await settle();
  assert.deepEqual(sent, []);
  note(100);
  await settle();
  assert.deepEqual(thresholds(), [80, 90, 100]);
  assert.deepEqual(
    sent.map(({ text }) => /has used .*(?= It resets)/.exec(`${text}`)?.[0]),
    [
      "has used 100 % of 100 requests per hour, over 80 %.",
      "has used 100 % of 100 requests per hour, over 90 %.",
      "has used 100 % of 100 requests per hour.",
    ],
  );
  note(100);
  await settle();
  assert.equal(sent.length, 3);
  note(95, NOW_MS + 2 * HOUR_MS);
  await settle();
  assert.deepEqual(thresholds().slice(3), [80, 90], "the next window");
});

Deno.test("threads that cross a threshold at the same time send one alert", async () => {
  const { note, thresholds } = await openThreads(3);
  note(85);
  note(100);
  await settle();
  assert.deepEqual(thresholds().map(Number).sort((a, b) => a - b), [
    80,
    90,
    100,
  ]);
});

Deno.test("reset times that differ by seconds belong to the same window", async () => {
  const { noteQuota, sent, thresholds } = await openThreads(2);
  const resetsAtMs = NOW_MS + 5 * HOUR_MS;
  for (const offset of [0, 9000, -5000, 1]) {
    noteQuota(92, resetsAtMs + offset);
    await settle();
  }
  assert.deepEqual(thresholds(), [80, 90]);
  assert.match(String(sent[1]?.text), /^The plan of GLM team has used 92 %/);
  noteQuota(92, NOW_MS - 1);
  await settle();
  assert.equal(sent.length, 2, "a window that is over is no news");
});

Deno.test("a session is one window, even if its end moves because of an earlier request", async () => {
  const { note, sent, thresholds } = await openThreads(2);
  const life: typeof BOUND = {
    ...BOUND,
    holder: { kind: "session", name: "alice\t7" },
    limit: { ...BOUND.limit, per: "session", window: "session" },
  };
  const endMs = NOW_MS + 24 * HOUR_MS;
  for (const offset of [0, -HOUR_MS, -4 * HOUR_MS]) {
    note(95, endMs + offset, life);
    await settle();
  }
  assert.deepEqual(thresholds(), [80, 90]);
  assert.equal(sent[0]?.scope, "session");
  assert.match(`${sent[0]?.text}`, /^A session of alice has used 95 % of 100/);
  note(95, endMs + 24 * HOUR_MS, life);
  await settle();
  assert.deepEqual(thresholds(), [80, 90, 80, 90], "the next life");
});

Deno.test("settled() waits until the sender has all alerts", async () => {
  const { note, thresholds, settled } = await openThreads();
  note(100);
  assert.deepEqual(thresholds(), []);
  await settled();
  assert.deepEqual(thresholds(), [80, 90, 100]);
  await settled();
});
