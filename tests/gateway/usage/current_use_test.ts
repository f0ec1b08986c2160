import assert from "node:assert/strict";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import type { UsageState } from "../../../src/gateway/observe/metrics.ts";
import { period } from "../../../src/gateway/quotas/period.ts";
import { quotaWindow } from "../../../src/gateway/quotas/window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import { createCounting } from "../../../src/gateway/usage/counting.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import { createUsageService } from "../../../src/gateway/usage/service.ts";
import {
  connectionFile,
  minimalConfig,
  NOW_MS,
  tokenFile,
} from "../../support/gateway/config.ts";
import { identityFile } from "../../support/gateway/identity_scene.ts";
import { createLogLines } from "../../support/gateway/log_lines.ts";

const HOUR_MS = 3_600_000;
const CLOCK = { now: () => NOW_MS, elapsedMs: () => 0 };

/** A window that began four hours ago. */
const WINDOW = windowOf(period(5, "hour"), 50, HOUR_MS);

function windowOf(
  length: ReturnType<typeof period>,
  usedPercent: number,
  leftMs: number,
): QuotaWindow {
  const resetsAt = new Date(NOW_MS + leftMs).toISOString();
  const kind = { type: "USAGE_LIMIT", unit: "percent" } as const;
  return quotaWindow({ ...kind, period: length, usedPercent, resetsAt });
}

/**
 * Returns the use after a request of alice with 60 tokens of `model-1` and one of bob with 20. The process has run for
 * a day.
 */
async function currentUse(
  fields: Parameters<typeof minimalConfig>[0],
  windows: readonly QuotaWindow[] = [],
): Promise<UsageState> {
  const sums = createMemorySums(CLOCK);
  sums.completeSince(NOW_MS - 24 * HOUR_MS);
  const quota = { kind: "headers" };
  const config = await minimalConfig({
    connections: [connectionFile({ name: "one", models: MODELS, quota })],
    ...fields,
  });
  const counting = createCounting(sums);
  for (const caller of new Set(config.callers.values())) {
    const input = caller.name === "alice" ? 60 : 20;
    counting.count({
      caller,
      connection: "one",
      model: "model-1",
      atMs: NOW_MS,
      counts: { requests: 1, input, output: 0, cost: 250_000_000 },
    });
  }
  const service = createUsageService({
    sums,
    liveConfig: createLiveConfig(config),
    quotas: {
      known: () => windows,
      read: () => Promise.reject(new Error("Nobody reads")),
    },
    log: createLogLines().log,
    clock: CLOCK,
  });
  return await service.current(config);
}

/** Returns the values of a limit as a list. */
function rowOf(limit: UsageState["limits"][number]) {
  const {
    scope,
    name,
    limit: what,
    usedRatio,
    remaining,
    resetsAtMs,
    ...rest
  } = limit;
  assert.deepEqual(rest, {});
  return [scope, name, what, usedRatio, remaining, resetsAtMs];
}

const PRICE = { input: 1, output: 1 };

const MODELS = ["model-1", "model-2"].map((id) => ({ id, price: PRICE }));

function tokens(
  rows: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
) {
  return Object.entries(rows).map(([name, fields], index) =>
    tokenFile({ name, sha256: `${index}`.repeat(64), ...fields })
  );
}

Deno.test("the current use is empty without limits and groups", async () => {
  assert.deepEqual(await currentUse({}, [WINDOW]), {
    limits: [],
    groupQuotas: [],
  });
});

Deno.test("the current use has the used share, the rest and the reset of every limit", async () => {
  const { limits } = await currentUse({
    groups: { team: { limits: [{ window: "day", tokens: 100 }] } },
    tokens: tokens({
      alice: { group: "team", limits: [{ window: "month", cost: 1 }] },
      bob: { group: "team", limits: [{ window: "month", requests: 4 }] },
    }),
  });
  const day = NOW_MS - NOW_MS % (24 * HOUR_MS) + 24 * HOUR_MS;
  const now = new Date(NOW_MS);
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  assert.deepEqual(limits.map(rowOf), [
    ["token", "alice", "cost month", 0.25, 0.75, month],
    ["group", "team", "tokens day", 0.8, 20, day],
    ["token", "bob", "requests month", 0.25, 3, month],
  ]);
});

Deno.test("the current use shows only the fullest of limits with the same name, and a rest of 0 if it is exceeded", async () => {
  const { limits } = await currentUse({
    tokens: tokens({
      alice: {
        limits: [
          { window: "day", tokens: 1000, models: ["model-2"] },
          { window: "day", tokens: 40, models: ["model-1"] },
          { window: "day", tokens: 600 },
        ],
      },
    }),
  });
  const shown = limits.map((limit) => rowOf(limit).slice(2, 5));
  assert.deepEqual(shown, [["tokens day", 1.5, 0]]);
});

/** A longer window that is used up. */
const WEEK = windowOf(period(1, "week"), 100, 160 * HOUR_MS);

Deno.test("a share of a quota shows its use only in a known window of the provider", async () => {
  const share = { connection: "one", window: "five_hour", share: 0.5 };
  const fields = { tokens: tokens({ alice: { limits: [share] }, bob: {} }) };
  assert.deepEqual((await currentUse(fields)).limits, []);
  const { limits } = await currentUse(fields, [WEEK, WINDOW]);
  // Alice has 60 of 80 tokens, so 0.375 of the window are hers.
  assert.deepEqual(limits.map(rowOf), [
    ["token", "alice", "share five_hour", 0.75, 0.125, NOW_MS + HOUR_MS],
  ]);
});

Deno.test("each group has its part of each quota window, with or without limits", async () => {
  const { groupQuotas } = await currentUse({
    groups: { team: {}, others: {} },
    tokens: tokens({ alice: { group: "team" }, bob: { group: "others" } }),
  }, [WINDOW]);
  const window = {
    connection: "one",
    type: "USAGE_LIMIT",
    window: "five_hour",
    unit: "percent",
  };
  assert.deepEqual(groupQuotas, [
    { group: "team", ...window, used: 0.375 },
    { group: "others", ...window, used: 0.125 },
  ]);
});

Deno.test("a group that only a rule of an identity provider names is shown", async () => {
  const { limits, groupQuotas } = await currentUse({
    groups: { team: { limits: [{ window: "day", tokens: 100 }] } },
    identity: [
      identityFile({ rules: [{ connections: ["*"], group: "team" }] }),
    ],
  }, [WINDOW]);
  assert.deepEqual(
    limits.map(({ scope, name, remaining }) => [scope, name, remaining]),
    [["group", "team", 100]],
  );
  const parts = groupQuotas.map(({ group, used }) => [group, used]);
  assert.deepEqual(parts, [["team", 0]]);
});
