import assert from "node:assert/strict";
import { type Meter, metrics } from "@opentelemetry/api";
import type { Operation } from "../../../src/base/protocol.ts";
import {
  createTracing,
  sharedAttributes,
  spanAttributes,
} from "../../../src/gateway/observe/open_telemetry.ts";
import type {
  Ending,
  RequestFacts,
} from "../../../src/gateway/observe/facts.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";

const NAMES = {
  isModel: (name: string) => name === "model-a",
  providerOf: (connection: string) =>
    connection === "main" ? "openai" : undefined,
};

const EMPTY = openTestRecord().record.facts;

const SERVED: Partial<RequestFacts> = {
  model: "model-a",
  upstreamModel: "upstream-a",
  connection: "main",
  mode: "native",
  status: 200,
};

const USAGE = {
  inputTokens: 50,
  cachedInputTokens: 30,
  outputTokens: 20,
  reasoningTokens: 5,
};

function requestOf(
  facts: Partial<RequestFacts>,
  operation: Operation = "messages",
) {
  const opened = openTestRecord();
  Object.assign(opened.record.facts, facts);
  return { ...opened, operation, requestId: opened.record.requestId };
}

function shared(
  facts: Partial<RequestFacts>,
  ending: Ending = "complete",
  operation?: Operation,
) {
  const request = requestOf(facts, operation);
  const ended = { facts: request.record.facts, ending };
  return sharedAttributes(request, ended, NAMES);
}

Deno.test("sharedAttributes() names the operation, the provider, the requested model and the upstream's model", () => {
  assert.deepEqual(shared(SERVED), {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "model-a",
    "gen_ai.response.model": "upstream-a",
  });
  const operation = (name: Operation) =>
    shared(SERVED, "complete", name)["gen_ai.operation.name"];
  assert.equal(operation("completions"), "text_completion");
  assert.equal(operation("count_tokens"), "count_tokens");
});

Deno.test("sharedAttributes() omits a model and a connection that the configuration does not have", () => {
  const facts = { ...SERVED, model: "invented", connection: "gone" };
  assert.deepEqual(shared(facts), {
    "gen_ai.operation.name": "chat",
    "gen_ai.response.model": "upstream-a",
  });
});

Deno.test("sharedAttributes() reports an error by the caller's status, or by the ending", () => {
  const type = (facts: Partial<RequestFacts>, ending: Ending) =>
    shared(facts, ending)["error.type"];
  assert.equal(type({ status: 502 }, "error"), "502");
  assert.equal(type({ status: 429 }, "complete"), "429");
  assert.equal(type({ status: 200 }, "upstream_broken"), "upstream_broken");
  assert.equal(type({ status: 499 }, "client_abort"), "client_abort");
  assert.equal(type({}, "error"), "_OTHER");
  assert.equal(type({ status: 200 }, "complete"), undefined);
  const failed = shared({ ...SERVED, status: 500 }, "error");
  assert.equal(failed["gen_ai.response.model"], undefined);
});

Deno.test("spanAttributes() returns the tokens, the stop reason and the mode, but no text", () => {
  const request = requestOf({
    ...SERVED,
    answer: {
      usage: { ...USAGE, cacheWriteTokens: 10 },
      stopReason: "tool_calls",
      firstOutputMs: 250,
    },
    isStream: true,
    effort: "high",
    attempts: [{ connection: "main", model: "model-a", startedMs: 1 }],
    error: "text of theirs",
    reason: "text of theirs",
    client: { session: "s1", agent: "a1", requestId: "r1" },
  });
  assert.deepEqual(spanAttributes(request, request.record.facts), {
    "gen_ai.usage.input_tokens": 50,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 30,
    "gen_ai.usage.cache_write.input_tokens": 10,
    "gen_ai.usage.reasoning.output_tokens": 5,
    "gen_ai.request.reasoning.level": "high",
    "gen_ai.response.time_to_first_chunk": 0.25,
    "gen_ai.response.finish_reasons": ["tool_calls"],
    "gen_ai.conversation.id": "s1",
    "gen_ai.agent.id": "a1",
    "model_gateway.client_request_id": "r1",
    "model_gateway.request_id": "req_1",
    "model_gateway.connection": "main",
    "model_gateway.mode": "native",
    "model_gateway.attempts": 1,
  });
  assert.deepEqual(
    spanAttributes({ operation: "messages", requestId: "req_1" }, EMPTY),
    {
      "model_gateway.request_id": "req_1",
      "model_gateway.attempts": 0,
    },
  );
});

/** Returns the instruments that a request uses, each with the sum of its values. */
async function measured(
  optIn: string | undefined,
): Promise<Readonly<Record<string, number>>> {
  const sums: Record<string, number> = {};
  const add = (name: string) => (value: number) =>
    void (sums[name] = (sums[name] ?? 0) + value);
  const meter: Pick<Meter, "createHistogram" | "createCounter"> = {
    createHistogram: (name) => ({ record: add(name) }),
    createCounter: (name) => ({ add: add(name) }),
  };
  metrics.disable();
  metrics.setGlobalMeterProvider({ getMeter: () => Object.assign(meter) });
  try {
    const request = requestOf({
      ...SERVED,
      isStream: true,
      answer: { firstOutputMs: 250, usage: USAGE },
    });
    const tracing = createTracing(NAMES, optIn);
    await tracing.follow(request, (span) => {
      request.holds.span = span;
      return Promise.resolve();
    });
    request.end("complete");
  } finally {
    metrics.disable();
  }
  return sums;
}

Deno.test("createTracing() uses the older names of instruments, and the latest names on request", async () => {
  const server = {
    "gen_ai.server.request.duration": 0,
    "gen_ai.server.time_to_first_token": 0.25,
  };
  for (const optIn of [undefined, "", "http,database"]) {
    assert.deepEqual(await measured(optIn), {
      "gen_ai.client.operation.duration": 0,
      "gen_ai.client.token.usage": 70,
      ...server,
    });
  }
  assert.deepEqual(await measured("http, gen_ai_latest_experimental"), {
    "gen_ai.client.inference.duration": 0,
    "gen_ai.client.inference.time_to_first_chunk": 0.25,
    "gen_ai.client.inference.usage.input_tokens": 50,
    "gen_ai.client.inference.usage.output_tokens": 20,
    "gen_ai.client.inference.usage.cache_read.input_tokens": 30,
    "gen_ai.client.inference.usage.reasoning.output_tokens": 5,
    ...server,
  });
});
