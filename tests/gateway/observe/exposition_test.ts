import assert from "node:assert/strict";
import {
  createProcessMetrics,
  formatExposition,
} from "../../../src/gateway/observe/exposition.ts";
import type { QuotaState } from "../../../src/gateway/observe/metrics.ts";
import { createGatewayMetrics } from "../../../src/gateway/observe/prometheus.ts";
import { readExposition, sumOf } from "../../support/gateway/exposition.ts";

function quota(remaining: number, usedPercent: number): QuotaState {
  return {
    connection: "main",
    type: "TOKENS_LIMIT",
    window: "5h",
    unit: "tokens",
    limit: 100,
    remaining,
    usedPercent,
    resetsAtMs: null,
  };
}

Deno.test("formatExposition() sums the threads' counts and shows their tightest quota", async () => {
  const snapshots = [];
  for (const [requests, remaining] of [[2, 40], [3, 30]] as const) {
    const metrics = createGatewayMetrics({
      isModel: () => true,
      isToken: () => true,
      fields: new Set(),
    });
    for (let count = 0; count < requests; count++) {
      const asked = { method: "GET", attempts: [], route: "/v1/models" };
      metrics.requestEnded({
        facts: { ...asked, answer: {}, bytesIn: 1, bytesOut: 2 },
        ending: "complete",
        totalMs: 20,
      });
    }
    const quotas = [quota(remaining, 100 - remaining)];
    const snapshot = await metrics.collect({
      inFlight: requests,
      bodyMemoryBytes: 0,
      quotas,
    });
    snapshots.push(structuredClone(snapshot));
  }
  const samples = readExposition(await formatExposition(snapshots));
  const sum = (name: string) => sumOf(samples, `model_gateway_${name}`);
  assert.equal(sum("requests_total"), 5);
  assert.equal(sum("requests_in_flight"), 5);
  assert.equal(sum("request_duration_seconds_count"), 5);
  assert.equal(sum("quota_limit"), 100);
  assert.equal(sum("quota_remaining"), 30);
  assert.equal(sum("quota_used_ratio"), 0.7);
});

Deno.test("the process reports its version, start, memory and threads", async () => {
  const process = createProcessMetrics({
    version: "1.2.3",
    startedAtMs: 5000,
    workers: 2,
    replacements: () => 1,
    residentBytes: () => 4096,
    limits: () => ({ maxConcurrentRequests: 64, maxBodyMemoryBytes: 512 }),
  });
  const text = await formatExposition([await process.collect()]);
  const samples = readExposition(text);
  const version = { version: "1.2.3" };
  assert.equal(sumOf(samples, "model_gateway_build_info", version), 1);
  assert.equal(sumOf(samples, "process_start_time_seconds"), 5);
  assert.equal(sumOf(samples, "process_resident_memory_bytes"), 4096);
  assert.equal(sumOf(samples, "model_gateway_workers"), 2);
  const most = "model_gateway_requests_in_flight_limit";
  assert.equal(sumOf(samples, most), 64);
  assert.equal(sumOf(samples, "model_gateway_body_memory_limit_bytes"), 512);
  const replaced = "model_gateway_worker_replacements_total";
  assert.equal(sumOf(samples, replaced), 1);
});
