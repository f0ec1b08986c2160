import assert from "node:assert/strict";
import { createChunkGaps } from "../../src/observe/chunk_gaps.ts";
import { formatExposition } from "../../src/observe/exposition.ts";
import type {
  EndedRequest,
  GatewayState,
  QuotaState,
  UsageState,
} from "../../src/observe/metrics.ts";
import {
  createGatewayMetrics,
  type GatewayMetrics,
} from "../../src/observe/prometheus.ts";
import type { RequestFacts } from "../../src/observe/facts.ts";
import {
  readExposition,
  type Sample,
  sumOf,
} from "../support/gateway/exposition.ts";

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
  return {
    facts: {
      method: "POST",
      attempts: [],
      answer: {},
      bytesIn: 0,
      bytesOut: 0,
      ...facts,
    },
    ending: "complete",
    totalMs: 1,
    ...rest,
  };
}

async function scrape(
  metrics: GatewayMetrics,
  state: GatewayState = IDLE,
): Promise<readonly Sample[]> {
  return readExposition(await formatExposition([await metrics.collect(state)]));
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

/** A request for `model`, which one attempt has served. */
function servedBy(model: string): Partial<RequestFacts> {
  return { model, attempts: [{ connection: "main", model, startedMs: 1 }] };
}

Deno.test("a request is counted by route, protocol, mode, status class and ending", async () => {
  const metrics = createMetrics();
  metrics.requestEnded(ended(WHOLE, { totalMs: 1500 }));
  metrics.requestEnded(ended({ ...WHOLE, status: 204 }));
  metrics.requestEnded(ended({ status: 404 }, { ending: "error" }));
  const samples = await scrape(metrics);
  const requests = samples.filter(({ name }) =>
    name === "model_gateway_requests_total"
  );
  assert.deepEqual(requests.map(({ labels, value }) => [labels, value]), [
    [{
      route: "/v1/messages",
      protocol: "messages",
      mode: "translated",
      status: "2xx",
      ended: "complete",
    }, 2],
    [{
      route: "none",
      protocol: "none",
      mode: "none",
      status: "4xx",
      ended: "error",
    }, 1],
  ]);
  const route = { route: "/v1/messages" };
  const sum = (name: string, labels: Record<string, string> = route) =>
    sumOf(samples, `model_gateway_${name}`, labels);
  assert.equal(sum("request_body_bytes_total"), 200);
  assert.equal(sum("answer_body_bytes_total"), 4000);
  assert.equal(sum("request_duration_seconds_count"), 2);
  assert.equal(sum("request_duration_seconds_sum"), 1.501);
});

Deno.test("an answer's tokens and times are counted by connection and model", async () => {
  const metrics = createMetrics();
  metrics.requestEnded(ended(WHOLE));
  const samples = await scrape(metrics);
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

/** The gaps of an answer whose chunks came at these times, in milliseconds. */
function gapsOf(...timesMs: readonly number[]) {
  const gaps = createChunkGaps();
  for (const timeMs of timesMs) gaps.note(timeMs);
  return gaps;
}

Deno.test("an answer is counted for the model that served it: a fallback, or the provider's choice", async () => {
  const metrics = createMetrics();
  const answer = { ...WHOLE.answer, costNanos: 500_000_000 };
  const served = { id: "model-a", upstream: "upstream-a" };
  metrics.requestEnded(ended({ ...WHOLE, model: "invented", answer }));
  metrics.requestEnded(
    ended({ ...WHOLE, ...servedBy("invented"), answer: { ...answer, served } }),
  );
  const usage = { inputTokens: 7, outputTokens: 0 };
  const byModel = [
    { model: "invented", usage, costNanos: undefined },
    { model: "model-a", usage, costNanos: 250_000_000 },
  ];
  metrics.requestEnded(
    ended({ ...WHOLE, ...servedBy("invented"), answer: { byModel } }),
  );
  const samples = await scrape(metrics);
  const sum = (name: string) =>
    sumOf(samples, `model_gateway_${name}`, { model: "model-a" });
  assert.equal(sum("cost_usd_total"), 1.25);
  assert.equal(sum("first_byte_seconds_count"), 2);
});

Deno.test("the gaps between chunks are counted by connection and model, those of several threads together", async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(10, 30, 31, 31) }));
  one.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(0, 90_000) }));
  one.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(7) }));
  one.requestEnded(
    ended({ ...WHOLE, ...servedBy("invented"), chunkGaps: gapsOf(0, 3) }),
  );
  other.requestEnded(ended({ ...WHOLE, chunkGaps: gapsOf(0, 20) }));
  const samples = readExposition(
    await formatExposition([
      await one.collect(IDLE),
      await other.collect(IDLE),
    ]),
  );
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

Deno.test("every request to a provider is an attempt, with the status class of its response, if any", async () => {
  const metrics = createMetrics();
  metrics.requestEnded(ended(WHOLE));
  const failed = { why: "unreachable" as const, status: undefined, atMs: 2 };
  const attempt = { connection: "main", model: "model-a", startedMs: 1 };
  metrics.requestEnded(ended({ attempts: [{ ...attempt, failed }] }));
  const unsent = { ...failed, why: "untranslatable" as const };
  metrics.requestEnded(ended({ attempts: [{ ...attempt, failed: unsent }] }));
  const short = { ...failed, why: "gateway_shortage" as const };
  metrics.requestEnded(ended({ attempts: [{ ...attempt, failed: short }] }));
  const samples = await scrape(metrics);
  const attempts = samples.filter(({ name }) =>
    name === "model_gateway_attempts_total"
  );
  assert.deepEqual(attempts.map(({ labels, value }) => [labels, value]), [
    [{ connection: "spare", status: "5xx" }, 1],
    [{ connection: "main", status: "2xx" }, 1],
    [{ connection: "main", status: "none" }, 1],
  ]);
  assert.equal(sumOf(samples, "model_gateway_shortages_total", {}), 1);
});

Deno.test("a caller's requests and tokens are counted by the name of the token", async () => {
  const metrics = createMetrics();
  metrics.requestEnded(ended(WHOLE));
  metrics.requestEnded(ended({ caller: "bob" }, { ending: "client_abort" }));
  const samples = await scrape(metrics);
  const sum = (name: string, labels: Record<string, string>) =>
    sumOf(samples, `model_gateway_caller_${name}_total`, labels);
  assert.equal(sum("requests", { token: "alice", ended: "complete" }), 1);
  assert.equal(sum("requests", { token: "bob", ended: "client_abort" }), 1);
  assert.equal(sum("tokens", { token: "alice", kind: "output" }), 20);
  assert.equal(sum("tokens", { token: "bob" }), 0);
});

Deno.test("names that the configuration does not have become other", async () => {
  const metrics = createMetrics();
  for (let index = 0; index < 100; index++) {
    metrics.requestEnded(ended({
      ...WHOLE,
      ...servedBy(`invented-${index}`),
      answer: {
        ...WHOLE.answer,
        dropped: ["seed", `field-${index}`, "__proto__"],
      },
    }));
  }
  const samples = await scrape(metrics);
  assert.ok(
    samples.every(({ labels }) =>
      !Object.values(labels).some((value) =>
        /invented|field-|proto/.test(value)
      )
    ),
  );
  const dropped = (field: string) =>
    sumOf(samples, "model_gateway_dropped_fields_total", { field });
  assert.equal(dropped("seed"), 100);
  assert.equal(dropped("other"), 200);
  assert.equal(
    sumOf(samples, "model_gateway_tokens_total", {
      model: "other",
      kind: "input",
    }),
    5000,
  );
});

Deno.test("hostile names of the configuration are escaped", async () => {
  const metrics = createMetrics();
  const hostile = 'quote " backslash \\ {x="y"} é';
  metrics.requestEnded(ended({ ...WHOLE, caller: hostile }));
  metrics.requestEnded(ended({ ...WHOLE, caller: "__proto__" }));
  const samples = await scrape(metrics);
  for (const token of [hostile, "__proto__"]) {
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

Deno.test("the moves of conversations are counted by the connection that they left and the reason", async () => {
  const metrics = createMetrics();
  const [from, why] = ["main", "full"] as const;
  metrics.requestEnded(ended({ ...WHOLE, moved: { from, why } }));
  metrics.requestEnded(
    ended({ ...WHOLE, moved: { from: undefined, why: "removed" } }),
  );
  metrics.requestEnded(ended(WHOLE));
  const samples = await scrape(metrics);
  const name = "model_gateway_conversation_moves_total";
  const main = { connection: "main", reason: "full" };
  assert.equal(sumOf(samples, name, main), 1);
  const gone = { connection: "none", reason: "removed" };
  assert.equal(sumOf(samples, name, gone), 1);
  assert.equal(sumOf(samples, name), 2);
});

Deno.test("a limit has gauges of its used share, rest and reset, until it leaves the configuration", async () => {
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
  const collect = async (usage: UsageState) =>
    readExposition(
      await formatExposition([await metrics.collect(IDLE, usage)]),
    );
  const samples = await collect({ limits, groupQuotas: [] });
  const value = (name: string) =>
    sumOf(samples, `model_gateway_limit_${name}`, labels);
  assert.equal(value("used_ratio"), 0.8);
  assert.equal(value("remaining"), 20);
  assert.equal(value("resets_timestamp_seconds"), 5);
  const after = await collect({ limits: [], groupQuotas: [] });
  assert.ok(!after.some(({ labels }) => labels.scope !== undefined));
});

Deno.test("a group's parts of a provider's windows have a bounded number of series", async () => {
  const groupQuotas = Array.from({ length: 1000 }, (_, index) => ({
    group: index % 2 === 0 ? "team" : "others",
    connection: "main",
    type: `USAGE_LIMIT:${index}`,
    window: "five_hour",
    unit: "percent",
    used: 0.5,
  }));
  const snapshot = await createMetrics()
    .collect(IDLE, { limits: [], groupQuotas });
  const samples = readExposition(await formatExposition([snapshot]));
  const shown = samples.filter(({ name }) =>
    name === "model_gateway_group_quota_used_ratio"
  );
  assert.equal(shown.length, 64);
});

function quota(parts: Partial<QuotaState> = {}): QuotaState {
  return {
    connection: "main",
    type: "TOKENS_LIMIT",
    window: "5h",
    unit: "tokens",
    limit: 200,
    remaining: 150,
    usedPercent: 25,
    resetsAtMs: 1_700_000_000_000,
    ...parts,
  };
}

Deno.test("a quota window has gauges of its size, rest, used share and end, until it is unknown", async () => {
  const metrics = createMetrics();
  const before = await scrape(metrics, {
    inFlight: 3,
    bodyMemoryBytes: 5,
    abandonedHandshakes: 2,
    quotas: [quota()],
  });
  const value = (name: string) =>
    sumOf(before, `model_gateway_quota_${name}`, {
      connection: "main",
      type: "TOKENS_LIMIT",
      window: "5h",
      unit: "tokens",
    });
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
  const unknown = quota({
    limit: null,
    remaining: null,
    usedPercent: null,
    resetsAtMs: null,
  });
  const samples = await scrape(createMetrics(), {
    inFlight: 0,
    bodyMemoryBytes: 0,
    quotas: [unknown],
  });
  assert.ok(!samples.some(({ labels }) => labels.window !== undefined));
});

Deno.test("a provider with any number of windows has a bounded number of series", async () => {
  const quotas = Array.from(
    { length: 1000 },
    (_, index) => quota({ type: `USAGE_LIMIT:${index}` }),
  );
  const samples = await scrape(createMetrics(), {
    inFlight: 0,
    bodyMemoryBytes: 0,
    quotas,
  });
  const shown = samples.filter(({ name }) =>
    name === "model_gateway_quota_limit"
  );
  assert.equal(shown.length, 32);
});

Deno.test("createGatewayMetrics() sums the cost of answers by model and by token, and names no unknown model", async () => {
  const metrics = createMetrics();
  const answer = { costNanos: 500_000_000 };
  for (const model of ["model-a", "model-a", "invented"]) {
    metrics.requestEnded(
      ended({
        ...servedBy(model),
        caller: "alice",
        connection: "main",
        answer,
      }),
    );
  }
  metrics.requestEnded(ended({ caller: "alice", connection: "main" }));
  const samples = await scrape(metrics);
  const cost = (labels: Readonly<Record<string, string>>) =>
    sumOf(samples, "model_gateway_cost_usd_total", labels);
  assert.equal(cost({ connection: "main", model: "model-a" }), 1);
  assert.equal(cost({ connection: "main", model: "other" }), 0.5);
  assert.equal(
    sumOf(samples, "model_gateway_caller_cost_usd_total", { token: "alice" }),
    1.5,
  );
});

Deno.test("createGatewayMetrics() has labels for a thousand callers of identity providers, and for all tokens", async () => {
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
