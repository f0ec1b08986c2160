import { createChunkGaps } from "../../../src/gateway/observe/chunk_gaps.ts";
import {
  createProcessMetrics,
  formatExposition,
} from "../../../src/gateway/observe/exposition.ts";
import { createGatewayMetrics } from "../../../src/gateway/observe/prometheus.ts";

const WINDOW = {
  connection: "main",
  type: "USAGE_LIMIT",
  window: "five_hour",
  unit: "percent",
};

/** Returns a scrape with at least one sample of every metric. */
export async function everyMetric(): Promise<string> {
  const metrics = createGatewayMetrics({
    isModel: () => true,
    isToken: () => true,
    fields: new Set(),
  });
  const chunkGaps = createChunkGaps();
  for (const nowMs of [0, 1]) chunkGaps.note(nowMs);
  metrics.requestEnded({
    facts: {
      method: "POST",
      caller: "alice",
      route: "/v1/messages",
      protocol: "messages",
      model: "model-a",
      connection: "main",
      mode: "translated",
      status: 200,
      attempts: [{ connection: "main", model: "model-a", startedMs: 1 }],
      bytesIn: 1,
      bytesOut: 1,
      moved: { from: "main", why: "full" },
      waitedMs: 1,
      waitedFor: "concurrency",
      chunkGaps,
      answer: {
        upstreamStatus: 200,
        firstByteMs: 1,
        firstOutputMs: 1,
        dropped: ["seed"],
        substitute: "model-b",
        cacheMiss: { why: "idle", tokens: 2048 },
        reasoningDropped: ["refused"],
        costNanos: 1,
        usage: { inputTokens: 1, outputTokens: 1 },
      },
    },
    ending: "complete",
    totalMs: 1,
  });
  metrics.cooledDown("main", "trouble");
  metrics.limited({ token: "alice", limit: "tokens day", outcome: "near" });
  metrics.lag(1);
  const process = createProcessMetrics({
    sharedStore: () => "connected",
    version: "1",
    startedAtMs: 0,
    workers: 1,
    replacements: () => 0,
    residentBytes: () => 0,
    limits: () => ({ maxConcurrentRequests: 64, maxBodyMemoryBytes: 512 }),
  });
  const quota = {
    ...WINDOW,
    limit: 100,
    remaining: 50,
    usedPercent: 50,
    resetsAtMs: 1,
  };
  const limit = {
    scope: "token" as const,
    name: "alice",
    limit: "tokens day",
    usedRatio: 0.5,
    remaining: 1,
    resetsAtMs: 1,
  };
  return await formatExposition([
    await metrics.collect(
      { inFlight: 0, bodyMemoryBytes: 0, quotas: [quota] },
      {
        limits: [limit],
        groupQuotas: [{ ...WINDOW, group: "team", used: 0.5 }],
      },
    ),
    await process.collect(),
  ]);
}
