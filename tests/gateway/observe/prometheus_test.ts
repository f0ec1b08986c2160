import assert from "node:assert/strict";
import { createChunkGaps } from "../../../src/gateway/observe/chunk_gaps.ts";
import { formatExposition } from "../../../src/gateway/observe/exposition.ts";
import type {
  EndedRequest,
  GatewayState,
  QuotaState,
  UsageState,
} from "../../../src/gateway/observe/metrics.ts";
import {
  createGatewayMetrics,
  type GatewayMetrics,
} from "../../../src/gateway/observe/prometheus.ts";
import type { RequestFacts } from "../../../src/gateway/observe/facts.ts";
import {
  readExposition,
  type Sample,
  sumOf,
} from "../../support/gateway/exposition.ts";

const IDLE: GatewayState = { inFlight: 0, bodyMemoryBytes: 0, quotas: [] };

function createMetrics(): GatewayMetrics {
  return createGatewayMetrics({
    isModel: (name) => name === "model-a",
    isToken: (name) => name === "alice",
    fields: new Set(["seed", "top_k"]),
  });
}

function ended(
  facts: Partial<RequestFacts> = {},
  rest: Partial<EndedRequest> = {},
): EndedRequest {
  const none = { attempts: [], answer: {}, bytesIn: 0, bytesOut: 0 };
  return {
    facts: { method: "POST", ...none, ...facts },
    ending: "complete",
    totalMs: 1,
    ...rest,
  };
}

async function scrape(
  metrics: GatewayMetrics,
  state: GatewayState = IDLE,
  usage?: UsageState,
): Promise<readonly Sample[]> {
  const snapshot = await metrics.collect(state, usage);
  return readExposition(await formatExposition([snapshot]));
}

/** Returns the metrics after these requests. */
async function scrapeAfter(
  ...requests: readonly EndedRequest[]
): Promise<readonly Sample[]> {
  const metrics = createMetrics();
  for (const request of requests) metrics.requestEnded(request);
  return await scrape(metrics);
}

/** Returns the labels and values of each sample of a metric. */
function valuesOf(samples: readonly Sample[], metric: string) {
  return samples.filter(({ name }) => name === `model_gateway_${metric}`)
    .map(({ labels, value }) => [labels, value]);
}

const WHOLE: Partial<RequestFacts> = {
  caller: "alice",
  route: "/v1/messages",
  protocol: "messages",
  model: "model-a",
  connection: "main",
  mode: "translated",
  status: 200,
  attempts: [
    {
      connection: "spare",
      model: "model-a",
      startedMs: 1,
      failed: { why: "trouble", status: 503, atMs: 2 },
    },
    { connection: "main", model: "model-a", startedMs: 3 },
  ],
  bytesIn: 100,
  bytesOut: 2000,
  answer: {
    upstreamStatus: 200,
    firstByteMs: 300,
    firstOutputMs: 700,
    usage: {
      inputTokens: 50,
      cachedInputTokens: 30,
      cacheWriteTokens: 10,
      outputTokens: 20,
      reasoningTokens: 5,
    },
  },
};

/** Returns the facts of a request for `model` that one attempt served. */
function servedBy(model: string): Partial<RequestFacts> {
  return { model, attempts: [{ connection: "main", model, startedMs: 1 }] };
}

Deno.test("requests are counted by route, protocol, mode, status class and ending", async () => {
  const samples = await scrapeAfter(
    ended(WHOLE, { totalMs: 1500 }),
    ended({ ...WHOLE, status: 204 }),
    ended({ status: 404 }, { ending: "error" }),
  );
  const route = { route: "/v1/messages" };
  const good = { ...route, protocol: "messages", mode: "translated" };
  const none = { route: "none", protocol: "none", mode: "none" };
  assert.deepEqual(valuesOf(samples, "requests_total"), [
    [{ ...good, status: "2xx", ended: "complete" }, 2],
    [{ ...none, status: "4xx", ended: "error" }, 1],
  ]);
  const sum = (name: string) => sumOf(samples, `model_gateway_${name}`, route);
  assert.equal(sum("request_body_bytes_total"), 200);
  assert.equal(sum("answer_body_bytes_total"), 4000);
  assert.equal(sum("request_duration_seconds_count"), 2);
  assert.equal(sum("request_duration_seconds_sum"), 1.501);
});

Deno.test("an answer's tokens and times are counted by connection and model", async () => {
  const samples = await scrapeAfter(ended(WHOLE));
  const labels = { connection: "main", model: "model-a" };
  const tokens = (kind: string) =>
    sumOf(samples, "model_gateway_tokens_total", { ...labels, kind });
  assert.deepEqual(
    ["input", "cached_input", "cache_write", "output", "reasoning"].map(tokens),
    [50, 30, 10, 20, 5],
  );
  const sum = (name: string) => sumOf(samples, `model_gateway_${name}`, labels);
  assert.equal(sum("first_byte_seconds_sum"), 0.3);
  assert.equal(sum("first_output_seconds_sum"), 0.7);
});

/** Returns the gaps of an answer whose chunks arrived at these times, in milliseconds. */
function gapsOf(...timesMs: readonly number[]) {
  const gaps = createChunkGaps();
  for (const timeMs of timesMs) gaps.note(timeMs);
  return gaps;
}

Deno.test("an answer counts for the serving model: a fallback or the provider's choice", async () => {
  const answer = { ...WHOLE.answer, costNanos: 500_000_000 };
  const served = { id: "model-a", upstream: "upstream-a" };
  const usage = { inputTokens: 7, outputTokens: 0 };
  const byModel = [
    { model: "invented", usage, costNanos: undefined },
    { model: "model-a", usage, costNanos: 250_000_000 },
  ];
  const samples = await scrapeAfter(
    ended({ ...WHOLE, model: "invented", answer }),
    ended({ ...WHOLE, ...servedBy("invented"), answer: { ...answer, served } }),
    ended({ ...WHOLE, ...servedBy("invented"), answer: { byModel } }),
  );
  const sum = (name: string) =>
    sumOf(samples, `model_gateway_${name}`, { model: "model-a" });
  assert.equal(sum("cost_usd_total"), 1.25);
  assert.equal(sum("first_byte_seconds_count"), 2);
});

Deno.test("the gaps between chunks are counted by connection and model, for all threads together", async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(10, 30, 31, 31) }));
  one.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(0, 90_000) }));
  one.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(7) }));
  one.requestEnded(
    ended({ ...WHOLE, ...servedBy("invented"), chunkGaps: gapsOf(0, 3) }),
  );
  other.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(0, 20) }));
  const snapshots = [await one.collect(IDLE), await other.collect(IDLE)];
  const samples = readExposition(await formatExposition(snapshots));
  const sum = (part: string, labels: Record<string, string>) =>
    sumOf(samples, `model_gateway_chunk_gap_seconds_${part}`, {
      connection: "main",
      ...labels,
    });
  const known = { model: "model-a" };
  assert.equal(sum("count", known), 5);
  assert.equal(sum("sum", known), 90.041);
  const below = ["0.001", "0.01", "0.025", "60", "+Inf"].map((le) =>
    sum("bucket", { ...known, le })
  );
  assert.deepEqual(below, [2, 2, 4, 4, 5]);
  assert.equal(sum("count", { model: "other" }), 1);
});

Deno.test("every request to a provider counts as an attempt, with its response's status class, if any", async () => {
  const attempt = { connection: "main", model: "model-a", startedMs: 1 };
  const reasons = [
    "unreachable",
    "untranslatable",
    "gateway_shortage",
  ] as const;
  const failed = reasons.map((why) => ({ why, status: undefined, atMs: 2 }));
  const samples = await scrapeAfter(
    ended(WHOLE),
    ...failed.map((failed) => ended({ attempts: [{ ...attempt, failed }] })),
  );
  assert.deepEqual(valuesOf(samples, "attempts_total"), [
    [{ connection: "spare", status: "5xx" }, 1],
    [{ connection: "main", status: "2xx" }, 1],
    [{ connection: "main", status: "none" }, 1],
  ]);
  assert.equal(sumOf(samples, "model_gateway_shortages_total", {}), 1);
});

Deno.test("a caller's requests and tokens are counted by the name of the token", async () => {
  const samples = await scrapeAfter(
    ended(WHOLE),
    ended({ caller: "bob" }, { ending: "client_abort" }),
  );
  const sum = (name: string, labels: Record<string, string>) =>
    sumOf(samples, `model_gateway_caller_${name}_total`, labels);
  assert.equal(sum("requests", { token: "alice", ended: "complete" }), 1);
  assert.equal(sum("requests", { token: "bob", ended: "client_abort" }), 1);
  assert.equal(sum("tokens", { token: "alice", kind: "output" }), 20);
  assert.equal(sum("tokens", { token: "bob" }), 0);
});

Deno.test("names that the configuration does not have are counted as other", async () => {
  const requests = Array.from({ length: 100 }, (_, index) => {
    const dropped = ["seed", `field-${index}`, "__proto__"];
    const answer = { ...WHOLE.answer, dropped };
    return ended({ ...WHOLE, ...servedBy(`invented-${index}`), answer });
  });
  const samples = await scrapeAfter(...requests);
  for (const { labels } of samples) {
    const values = Object.values(labels).join(" ");
    assert.doesNotMatch(values, /invented|field-|proto/);
  }
  const dropped = (field: string) =>
    sumOf(samples, "model_gateway_dropped_fields_total", { field });
  assert.equal(dropped("seed"), 100);
  assert.equal(dropped("other"), 200);
  const input = { model: "other", kind: "input" };
  assert.equal(sumOf(samples, "model_gateway_tokens_total", input), 5000);
});

Deno.test("hostile names of the configuration are escaped", async () => {
  const tokens = ['quote " backslash \\ {x="y"} é', "__proto__"];
  const samples = await scrapeAfter(
    ...tokens.map((caller) => ended({ ...WHOLE, caller })),
  );
  for (const token of tokens) {
    const name = "model_gateway_caller_requests_total";
    assert.equal(sumOf(samples, name, { token }), 1, token);
  }
});

Deno.test("a connection's cool-downs are counted by their failure", async () => {
  const metrics = createMetrics();
  metrics.cooledDown("main", "trouble");
  metrics.cooledDown("main", "misconfigured");
  const samples = await scrape(metrics);
  const coolDowns = (failure: string) =>
    sumOf(samples, "model_gateway_cool_downs_total", {
      connection: "main",
      failure,
    });
  assert.deepEqual(["trouble", "misconfigured"].map(coolDowns), [1, 1]);
});

Deno.test("the moves of conversations are counted by the reason and the connection that the conversation left", async () => {
  const samples = await scrapeAfter(
    ended({ ...WHOLE, moved: { from: "main", why: "full" } }),
    ended({ ...WHOLE, moved: { from: undefined, why: "removed" } }),
    ended(WHOLE),
  );
  assert.deepEqual(valuesOf(samples, "conversation_moves_total"), [
    [{ connection: "main", reason: "full" }, 1],
    [{ connection: "none", reason: "removed" }, 1],
  ]);
});

Deno.test("a limit has gauges of its used share, rest and reset until the configuration removes it", async () => {
  const metrics = createMetrics();
  const labels = { scope: "group", name: "team", limit: "tokens day" };
  const limits = [{
    scope: "group" as const,
    name: "team",
    limit: "tokens day",
    usedRatio: 0.8,
    remaining: 20,
    resetsAtMs: 5000,
  }];
  const samples = await scrape(metrics, IDLE, { limits, groupQuotas: [] });
  const value = (name: string) =>
    sumOf(samples, `model_gateway_limit_${name}`, labels);
  assert.equal(value("used_ratio"), 0.8);
  assert.equal(value("remaining"), 20);
  assert.equal(value("resets_timestamp_seconds"), 5);
  const after = await scrape(metrics, IDLE, { limits: [], groupQuotas: [] });
  assert.ok(!after.some(({ labels }) => labels.scope !== undefined));
});

Deno.test("the shares of quota windows that groups use have a limited number of series", async () => {
  const groupQuotas = Array.from({ length: 1000 }, (_, index) => ({
    group: index % 2 === 0 ? "team" : "others",
    connection: "main",
    type: `USAGE_LIMIT:${index}`,
    window: "five_hour",
    unit: "percent",
    used: 0.5,
  }));
  const usage = { limits: [], groupQuotas };
  const samples = await scrape(createMetrics(), IDLE, usage);
  assert.equal(valuesOf(samples, "group_quota_used_ratio").length, 64);
});

const QUOTA_LABELS = {
  connection: "main",
  type: "TOKENS_LIMIT",
  window: "5h",
  unit: "tokens",
};

function quota(parts: Partial<QuotaState> = {}): QuotaState {
  return {
    ...QUOTA_LABELS,
    limit: 200,
    remaining: 150,
    usedPercent: 25,
    resetsAtMs: 1_700_000_000_000,
    ...parts,
  };
}

Deno.test("a quota window has gauges of its size, rest, used share and end while it is known", async () => {
  const metrics = createMetrics();
  const state = { inFlight: 3, bodyMemoryBytes: 5, abandonedHandshakes: 2 };
  const before = await scrape(metrics, { ...state, quotas: [quota()] });
  const value = (name: string) =>
    sumOf(before, `model_gateway_quota_${name}`, QUOTA_LABELS);
  assert.equal(value("limit"), 200);
  assert.equal(value("remaining"), 150);
  assert.equal(value("used_ratio"), 0.25);
  assert.equal(value("resets_timestamp_seconds"), 1_700_000_000);
  assert.equal(sumOf(before, "model_gateway_requests_in_flight"), 3);
  assert.equal(sumOf(before, "model_gateway_abandoned_handshakes"), 2);
  const after = await scrape(metrics);
  assert.equal(sumOf(after, "model_gateway_abandoned_handshakes"), 0);
  assert.ok(!after.some(({ labels }) => labels.window !== undefined));
});

Deno.test("unreported values of a quota are absent, not 0", async () => {
  const none = { limit: null, remaining: null, usedPercent: null };
  const quotas = [quota({ ...none, resetsAtMs: null })];
  const samples = await scrape(createMetrics(), { ...IDLE, quotas });
  assert.ok(!samples.some(({ labels }) => labels.window !== undefined));
});

Deno.test("a provider with many windows has a limited number of series", async () => {
  const quotas = Array.from(
    { length: 1000 },
    (_, index) => quota({ type: `USAGE_LIMIT:${index}` }),
  );
  const samples = await scrape(createMetrics(), { ...IDLE, quotas });
  assert.equal(valuesOf(samples, "quota_limit").length, 32);
});

Deno.test("createGatewayMetrics() sums the cost of answers by model and token, and hides unknown models", async () => {
  const alice = { caller: "alice", connection: "main" };
  const answer = { costNanos: 500_000_000 };
  const samples = await scrapeAfter(
    ...["model-a", "model-a", "invented"]
      .map((model) => ended({ ...alice, ...servedBy(model), answer })),
    ended(alice),
  );
  const cost = (labels: Readonly<Record<string, string>>) =>
    sumOf(samples, "model_gateway_cost_usd_total", labels);
  assert.equal(cost({ connection: "main", model: "model-a" }), 1);
  assert.equal(cost({ connection: "main", model: "other" }), 0.5);
  assert.equal(
    sumOf(samples, "model_gateway_caller_cost_usd_total", { token: "alice" }),
    1.5,
  );
});

Deno.test("createGatewayMetrics() has labels for all tokens and a thousand callers of identity providers", async () => {
  const metrics = createMetrics();
  for (let caller = 0; caller < 1002; caller++) {
    metrics.requestEnded(ended({ caller: `u-${caller}` }));
  }
  metrics.requestEnded(ended({ caller: "alice" }));
  metrics.limited({ token: "u-1001", limit: "tokens day", outcome: "near" });
  const samples = await scrape(metrics);
  const count = (token: string) =>
    sumOf(samples, "model_gateway_caller_requests_total", { token });
  assert.deepEqual(
    ["u-0", "u-999", "u-1000", "other", "alice"].map(count),
    [1, 1, 0, 2, 1],
  );
  const limits = "model_gateway_caller_limits_total";
  assert.equal(sumOf(samples, limits, { token: "other" }), 1);
});

Deno.test("createGatewayMetrics() counts callers at their limits", async () => {
  const metrics = createMetrics();
  const event = { token: "alice", limit: "tokens day" };
  metrics.limited({ ...event, outcome: "near" });
  metrics.limited({ ...event, outcome: "refused" });
  metrics.limited({ ...event, outcome: "refused" });
  const samples = await scrape(metrics);
  const count = (outcome: string) =>
    sumOf(samples, "model_gateway_caller_limits_total", { ...event, outcome });
  assert.equal(count("near"), 1);
  assert.equal(count("refused"), 2);
});
