import type { Fetch } from "../../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import type { UsageReport } from "../../../../src/gateway/usage/report.ts";
import { createGateway } from "../../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../../src/gateway/config/live_config.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  NOW_MS,
  tokenFile,
} from "../../../support/gateway/config.ts";
import { createLogLines } from "../../../support/gateway/log_lines.ts";
import { ask, hello } from "../../../support/wire/ask.ts";
import { until } from "../../../support/within.ts";

type QuotaUsage = UsageReport["connections"][number]["limits"][number];

const HOUR_MS = 3_600_000;

/**
 * Opens a provider with one window of five hours, whose answers have the tokens that the test sets.
 */
async function openShares(
  tokens: readonly Readonly<Record<string, unknown>>[],
  more: Readonly<Record<string, unknown>> = {},
) {
  const clock = { nowMs: NOW_MS };
  const quota = { usedPercent: 0, resetsAtMs: NOW_MS + 5 * HOUR_MS };
  const usage = { tokens: 1000 };
  let reads = 0;
  const fetch: Fetch = (url) => {
    if (url.includes("/quota")) {
      reads += 1;
      return Promise.resolve(Response.json({
        used: quota.usedPercent,
        reset: new Date(quota.resetsAtMs).toISOString(),
      }));
    }
    return Promise.resolve(Response.json({
      choices: [],
      usage: { prompt_tokens: usage.tokens, completion_tokens: 0 },
    }));
  };
  const liveConfig = createLiveConfig(configOf(
    await loadFile({
      limits: { cache_seconds: 0 },
      connections: [connectionFile({
        quota: {
          kind: "json",
          url: "https://a.example/quota",
          windows: [{
            type: "USAGE_LIMIT",
            period: "5h",
            unit: "percent",
            share: { at: "/used", of: "used_percent" },
            resets_at: { at: "/reset", format: "iso" },
          }],
        },
      })],
      tokens,
      ...more,
    }),
  ));
  const gateway = createGateway({
    liveConfig,
    fetch,
    log: createLogLines().log,
    clock: { now: () => clock.nowMs, elapsedMs: () => clock.nowMs - NOW_MS },
  });
  return {
    clock,
    quota,
    usage,
    reads: () => reads,
    /** Sends a request of a token with `count` input tokens. */
    async use(name: string, count: number): Promise<Response> {
      usage.tokens = count;
      const response = await gateway.handler(
        new Request("http://gateway/v1/chat/completions", {
          ...ask("chat", hello("chat")),
          headers: {
            "content-type": "application/json",
            authorization: `Bearer mg_${name}`,
          },
        }),
      );
      await response.clone().text();
      return response;
    },
    async report(name: string): Promise<UsageReport> {
      const response = await gateway.handler(
        new Request("http://gateway/v1/usage", {
          headers: { authorization: `Bearer mg_${name}` },
        }),
      );
      return await response.json();
    },
    async percent(name: string): Promise<QuotaUsage | undefined> {
      return (await this.report(name)).connections[0]?.limits[0];
    },
  };
}

const person = (name: string, more: Readonly<Record<string, unknown>> = {}) =>
  tokenFile({ name, sha256: sha256Hex(`mg_${name}`), ...more });

Deno.test("a token's part of a window is its share of all tokens, applied to the provider's percentage", async () => {
  const scene = await openShares([person("alice"), person("bob")]);
  await scene.use("alice", 1000);
  await scene.use("bob", 3000);
  scene.quota.usedPercent = 60;
  assert.deepEqual(await scene.percent("alice"), {
    type: "USAGE_LIMIT",
    window: "five_hour",
    used_percent: 60,
    your_percent: 15,
    complete: true,
    starts_at: "2026-01-01T00:00:00.000Z",
    resets_at: "2026-01-01T05:00:00.000Z",
  });
  assert.equal((await scene.percent("bob"))?.your_percent, 45);
});

Deno.test("a new window begins without the usage of the old one", async () => {
  const scene = await openShares([person("alice"), person("bob")]);
  await scene.use("alice", 1000);
  scene.clock.nowMs += 6 * HOUR_MS;
  scene.quota.resetsAtMs = scene.clock.nowMs + 4 * HOUR_MS;
  scene.quota.usedPercent = 10;
  await scene.use("bob", 500);
  assert.equal((await scene.percent("alice"))?.your_percent, 0);
  assert.equal((await scene.percent("bob"))?.your_percent, 10);
});

Deno.test("in a window that began before the gateway's start, only usage since the start is divided", async () => {
  const scene = await openShares([person("alice")]);
  scene.quota.resetsAtMs = NOW_MS + HOUR_MS;
  scene.quota.usedPercent = 70;
  assert.equal((await scene.percent("alice"))?.your_percent, 0);
  await scene.use("alice", 1000);
  scene.quota.usedPercent = 75;
  const window = await scene.percent("alice");
  assert.equal(window?.your_percent, 5);
  assert.equal(window?.complete, false);
});

Deno.test("a token over its share of a window is rejected until the provider's reset, other tokens are not", async () => {
  const limits = [{ connection: "main", window: "five_hour", share: 0.4 }];
  const scene = await openShares([person("alice", { limits }), person("bob")]);
  scene.clock.nowMs += HOUR_MS;
  await scene.use("alice", 900);
  await scene.use("bob", 100);
  scene.quota.usedPercent = 50;
  await scene.report("bob");
  const refused = await scene.use("alice", 1);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), String(4 * 3600));
  assert.equal(refused.headers.get("x-should-retry"), "false");
  const { error } = await refused.json();
  assert.equal(error.type, "token_limit_exceeded");
  assert.equal(
    error.message,
    "Cannot take the request: this token may use 40 % of five_hour of main and has used 45 %. The quota is exceeded and will reset at 2026-01-01 05:00 UTC. See your limits at http://gateway/ or with model-gateway usage.",
  );
  assert.equal((await scene.use("bob", 1)).status, 200);
  const [limit] = (await scene.report("alice")).limits;
  assert.deepEqual(limit, {
    scope: "token",
    group: null,
    unit: "share",
    window: "five_hour",
    models: null,
    connections: ["main"],
    limit: 0.4,
    used: 0.4496,
    remaining: 0,
    used_percent: 112.39,
    starts_at: "2026-01-01T00:00:00.000Z",
    resets_at: "2026-01-01T05:00:00.000Z",
  });
});

Deno.test("a token gets a warning near its share", async () => {
  const limits = [{ connection: "main", window: "five_hour", share: 0.5 }];
  const scene = await openShares([person("alice", { limits })]);
  await scene.use("alice", 900);
  scene.quota.usedPercent = 41;
  await scene.report("alice");
  const { headers } = await scene.use("alice", 1);
  assert.equal(
    headers.get("x-gateway-limit-warning"),
    "82 % used of 50 % of five_hour of main, resets at 2026-01-01T05:00:00Z",
  );
});

Deno.test("a group's share counts the usage of all members", async () => {
  const groups = {
    team: { limits: [{ connection: "main", window: "five_hour", share: 0.4 }] },
  };
  const scene = await openShares([
    person("alice", { group: "team" }),
    person("bob", { group: "team" }),
    person("carol"),
  ], { groups });
  await scene.use("alice", 300);
  await scene.use("bob", 300);
  await scene.use("carol", 400);
  scene.quota.usedPercent = 90;
  await scene.report("carol");
  assert.equal((await scene.use("alice", 1)).status, 429);
  assert.equal((await scene.use("bob", 1)).status, 429);
  assert.equal((await scene.use("carol", 1)).status, 200);
});

Deno.test("a share of a window that the gateway has not read rejects no request, and starts a quota reading", async () => {
  const limits = [{ connection: "main", window: "five_hour", share: 0 }];
  const scene = await openShares([person("alice", { limits })]);
  assert.equal((await scene.use("alice", 1)).status, 200);
  await until(() => scene.reads() > 0, "the quota to be read");
});

Deno.test("a share of a window that the provider does not report is unknown", async () => {
  const limits = [{ connection: "main", window: "weekly", share: 0.5 }];
  const scene = await openShares([person("alice", { limits })]);
  const [limit] = (await scene.report("alice")).limits;
  assert.equal(limit?.used, null);
  assert.equal(limit?.resets_at, null);
  assert.equal((await scene.use("alice", 1)).status, 200);
});
