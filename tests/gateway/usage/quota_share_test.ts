import assert from "node:assert/strict";
import { period } from "../../../src/gateway/quotas/period.ts";
import { quotaWindow } from "../../../src/gateway/quotas/window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import { createQuotaShares } from "../../../src/gateway/usage/quota_share.ts";
import { minimalConfig, NOW_MS } from "../../support/gateway/config.ts";

const HOUR_MS = 3_600_000;

/** Returns a window that began before the first count. */
function windowOf(type: string, usedPercent: number): QuotaWindow {
  return quotaWindow({
    type,
    unit: "percent",
    period: period(5, "hour"),
    usedPercent,
    resetsAt: new Date(NOW_MS + HOUR_MS).toISOString(),
  });
}

Deno.test("a provider that invents windows in each answer takes limited memory", async () => {
  const { connections: [connection] } = await minimalConfig();
  assert.ok(connection !== undefined);
  let windows: readonly QuotaWindow[] = [];
  const shares = createQuotaShares({
    sums: { read: (sums) => sums.map(() => 1), sinceMs: NOW_MS },
    quotas: { known: () => windows },
    clock: { now: () => NOW_MS },
  });
  const usedOf = (type: string, usedPercent: number) => {
    windows = [windowOf(type, usedPercent)];
    const found = shares.of(connection, { kind: "token", name: "alice" });
    assert.ok(!(found instanceof Promise));
    const [share] = found;
    return share?.used;
  };
  assert.equal(usedOf("FIRST", 10), 0);
  assert.equal(usedOf("FIRST", 20), 0.1);
  for (let count = 0; count < 9_999; count++) usedOf(`OTHER:${count}`, 1);
  assert.equal(usedOf("FIRST", 20), 0.1);
  usedOf("ONE TOO MANY", 1);
  // The same window counts as a new one.
  assert.equal(usedOf("FIRST", 20), 0);
});
