import assert from "node:assert/strict";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import {
  type Collector,
  startCollector,
} from "../../support/upstream/collector.ts";
import { ALICE_TOKEN, UPSTREAM_KEY } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  type Script,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { until, within } from "../../support/within.ts";
import { testNeeding } from "../../support/ignored.ts";

const PROMPT = "canary-of-the-prompt";
const ANSWER = "canary-of-the-answer";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN = "b7ad6b7169203331";

/** The headers of a caller that traces. */
const TRACED = {
  traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-01`,
  tracestate: "vendor=1",
  baggage: "team=blue",
};

/** The headers in which a client names its work. */
const NAMED = {
  "session-id": "session-of-alice",
  "thread-id": "agent-of-alice",
  "x-client-request-id": "request-of-alice",
};

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

/** Answers every protocol with a Chat Completions stream. */
const stream: Script = () =>
  new Response(
    new Blob([
      sseBytes({
        ...CHUNK,
        choices: [{ index: 0, delta: { role: "assistant", content: ANSWER } }],
      }),
      sseBytes({
        ...CHUNK,
        choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
        usage: USAGE,
      }),
      "data: [DONE]\n\n",
    ]).stream(),
    { headers: { "content-type": "text/event-stream" } },
  );

const CHUNK = {
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "model-a",
};

const chatBody = hello("chat", {
  stream: true,
  messages: [{ role: "user", content: PROMPT }],
});

const messagesBody = hello("messages", {
  model: "renamed-a",
  stream: true,
  messages: [{ role: "user", content: PROMPT }],
});

/**
 * Returns a configuration whose family A has Chat Completions only, so that Messages are
 * translated.
 */
function chatOnly(url: string, server: object): Record<string, unknown> {
  const file = familiesFile(url, { server });
  const [first, ...rest] = Array.isArray(file.connections)
    ? file.connections
    : [];
  const endpoints = { chat: `${url}/a` };
  return { ...file, connections: [{ ...first, endpoints }, ...rest] };
}

Deno.test("without OTEL_DENO a caller's trace is forwarded unchanged, natively and translated", async () => {
  await using upstream = startUpstream(stream);
  await using gateway = await startGateway(chatOnly(upstream.url, {}));
  const requests = [
    gateway.ask("chat", chatBody, TRACED),
    gateway.ask("messages", messagesBody, TRACED),
  ];
  for (const request of requests) {
    const answer = await request;
    assert.equal(answer.status, 200, await answer.text());
    const { headers } = await upstream.requests.next();
    for (const [name, value] of Object.entries(TRACED)) {
      assert.equal(headers.get(name), value, name);
    }
  }
});

Deno.test("with OTEL_DENO a trace continues from the caller to the provider, by the GenAI conventions, without any secret or text", async (t) => {
  await using upstream = startUpstream(stream);
  await using collector = startCollector();
  await using gateway = await serveFile(
    chatOnly(upstream.url, { port: 0 }),
    { env: collector.env },
  );
  const requests = [
    {
      mode: "native",
      path: PATHS.chat,
      init: ask("chat", chatBody, { ...TRACED, ...NAMED }),
      model: "model-a",
      upstreamModel: "model-a",
      named: {
        "gen_ai.conversation.id": "session-of-alice",
        "gen_ai.agent.id": "agent-of-alice",
        "model_gateway.client_request_id": "request-of-alice",
      },
      stops: undefined,
    },
    {
      mode: "translated",
      path: PATHS.messages,
      init: ask("messages", messagesBody, TRACED),
      model: "renamed-a",
      // The answer names another model of the connection. That model counts as the one that answered.
      upstreamModel: "model-a",
      named: {},
      stops: ["end"],
    },
  ];
  for (const { mode, path, init, model, ...expected } of requests) {
    const { upstreamModel, named, stops } = expected;
    await t.step(mode, async () => {
      const { status, text } = await askOnce(gateway.url + path, init);
      assert.equal(status, 200, text);
      assert.ok(text.includes(ANSWER));
      const { headers } = await upstream.requests.next();
      const ours = await collector.span((span) =>
        span.attributes["model_gateway.mode"] === mode
      );
      const sent = await collector.span((span) =>
        span.parentSpanId === ours.spanId
      );
      const server = await collector.span((span) =>
        span.spanId === ours.parentSpanId
      );
      assert.equal(server.parentSpanId, CALLER_SPAN);
      assert.deepEqual([server.kind, ours.kind, sent.kind], [2, 3, 3]);
      for (const { traceId } of [server, ours, sent]) {
        assert.equal(traceId, TRACE_ID);
      }
      assert.equal(
        headers.get("traceparent"),
        `00-${TRACE_ID}-${sent.spanId}-01`,
      );
      assert.equal(headers.get("tracestate"), TRACED.tracestate);
      assert.equal(headers.get("baggage"), TRACED.baggage);
      const {
        "model_gateway.request_id": id,
        "gen_ai.response.time_to_first_chunk": firstChunk,
        ...attributes
      } = ours.attributes;
      assert.match(String(id), /^req_/);
      assert.ok(Number(firstChunk) > 0);
      assert.equal(ours.name, `chat ${model}`);
      assert.equal(ours.isError, false);
      assert.deepEqual(attributes, {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "custom",
        "gen_ai.request.model": model,
        "gen_ai.response.model": upstreamModel,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        ...named,
        ...(stops && { "gen_ai.response.finish_reasons": stops }),
        "model_gateway.connection": "Family A",
        "model_gateway.mode": mode,
        "model_gateway.attempts": 1,
      });
    });
  }

  await t.step("an error", async () => {
    upstream.play(() =>
      Response.json({ error: { message: "canary-of-a-failure" } }, {
        status: 400,
      })
    );
    const { status } = await askOnce(
      gateway.url + PATHS.chat,
      ask("chat", chatBody),
    );
    assert.equal(status, 400);
    const span = await collector.span((one) =>
      one.attributes["error.type"] === "400"
    );
    assert.equal(span.isError, true);
    assert.equal(span.attributes["gen_ai.response.model"], undefined);
  });

  await t.step("an unknown model", async () => {
    const body = hello("chat", { model: "canary-of-a-model" });
    await askOnce(gateway.url + PATHS.chat, ask("chat", body));
    const span = await collector.span((one) =>
      one.attributes["error.type"] === "404"
    );
    assert.equal(span.name, "chat");
    assert.equal(span.attributes["gen_ai.request.model"], undefined);
  });

  await t.step("metrics", () => assertMetrics(collector));

  await t.step("secrets", async () => {
    await askOnce(`${gateway.url}/v1/models`, {
      headers: { authorization: "Bearer canary-of-a-token" },
    });
    const before = collector.exports();
    // These exports include the remains of the last request.
    await until(() => collector.exports() > before + 3, "later exports");
    for (const secret of [ALICE_TOKEN, UPSTREAM_KEY, "canary"]) {
      assert.ok(!collector.text().includes(secret), secret);
    }
  });
});

const ADVISED_SECONDS = [
  ...[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64],
  ...[1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
];

/** The buckets that the GenAI conventions recommend for each metric. */
const ADVISED_BOUNDS = {
  "gen_ai.client.operation.duration": ADVISED_SECONDS,
  "gen_ai.server.request.duration": ADVISED_SECONDS,
  "gen_ai.server.time_to_first_token": [
    ...[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1],
    ...[0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  ],
  "gen_ai.client.token.usage": [
    ...[1, 4, 16, 64, 256, 1024, 4096, 16384, 65536],
    ...[262144, 1048576, 4194304, 16777216, 67108864],
  ],
};

/** Checks the metrics of two answers, a failure and an unknown model. */
async function assertMetrics(collector: Collector): Promise<void> {
  const total = (name: string) =>
    collector.histograms(name).reduce((sum, { count }) => sum + count, 0);
  const duration = "gen_ai.client.operation.duration";
  await until(() => total(duration) === 4, "four measured requests");
  assert.equal(total("gen_ai.server.request.duration"), 4);
  assert.equal(total("gen_ai.server.time_to_first_token"), 2);
  const usage = collector.histograms("gen_ai.client.token.usage");
  const tokens = usage.map(({ attributes, sum, count }) => [
    attributes["gen_ai.request.model"],
    attributes["gen_ai.token.type"],
    sum,
    count,
  ]);
  assert.deepEqual(tokens.toSorted(), [
    ["model-a", "input", 7, 1],
    ["model-a", "output", 3, 1],
    ["renamed-a", "input", 7, 1],
    ["renamed-a", "output", 3, 1],
  ]);
  for (const [name, bounds] of Object.entries(ADVISED_BOUNDS)) {
    for (const histogram of collector.histograms(name)) {
      assert.deepEqual(histogram.bounds, bounds, name);
      const said = JSON.stringify(histogram.attributes);
      assert.ok(!said.includes("-of-alice"), said);
    }
  }
  assert.deepEqual(
    collector.histograms(duration).map(({ attributes }) =>
      attributes["error.type"]
    ).toSorted(),
    ["400", "404", undefined, undefined],
  );
}

testNeeding(
  "with OTEL_DENO a trace also continues through a worker",
  Deno.build.os !== "linux" && "only Linux deals connections out to threads",
  async () => {
    await using upstream = startUpstream(stream);
    await using collector = startCollector();
    await using gateway = await serveFile(
      chatOnly(upstream.url, { port: 0, workers: 2 }),
      { env: collector.env },
    );
    const url = gateway.url + PATHS.chat;
    assert.equal(
      (await askOnce(url, ask("chat", chatBody, TRACED))).status,
      200,
    );
    const { headers } = await upstream.requests.next();
    const ours = await collector.span(({ name }) => name === "chat model-a");
    const sent = await collector.span(({ parentSpanId }) =>
      parentSpanId === ours.spanId
    );
    assert.equal(
      headers.get("traceparent"),
      `00-${TRACE_ID}-${sent.spanId}-01`,
    );
    const usage = "gen_ai.client.token.usage";
    await until(
      () => collector.histograms(usage).length === 2,
      "the tokens of both kinds",
    );
  },
);

Deno.test("with OTEL_PROPAGATORS=none the caller's headers are forwarded unchanged", async () => {
  await using upstream = startUpstream(stream);
  await using collector = startCollector();
  await using gateway = await serveFile(chatOnly(upstream.url, { port: 0 }), {
    env: { ...collector.env, OTEL_PROPAGATORS: "none" },
  });
  const url = gateway.url + PATHS.chat;
  assert.equal((await askOnce(url, ask("chat", chatBody, TRACED))).status, 200);
  const { headers } = await upstream.requests.next();
  for (const [name, value] of Object.entries(TRACED)) {
    assert.equal(headers.get(name), value, name);
  }
});

Deno.test("pending telemetry is exported when the gateway stops", async () => {
  await using upstream = startUpstream(stream);
  await using collector = startCollector();
  await using gateway = await serveFile(chatOnly(upstream.url, { port: 0 }), {
    env: {
      ...collector.env,
      // Deno may hang when it exits while metrics are due (denoland/deno#33157).
      OTEL_BSP_SCHEDULE_DELAY: "60000",
      OTEL_METRIC_EXPORT_INTERVAL: "60000",
    },
  });
  const url = gateway.url + PATHS.chat;
  assert.equal((await askOnce(url, ask("chat", chatBody))).status, 200);
  await gateway.line("request");
  assert.equal(collector.spans.length, 0);
  gateway.kill("SIGTERM");
  assert.equal((await within(gateway.ended, "the end")).code, 0);
  await collector.span(({ name }) => name === "chat model-a");
  const usage = "gen_ai.client.token.usage";
  assert.equal(collector.histograms(usage).length, 2);
});

Deno.test("without OTEL_DENO nothing is exported, with any exporter", async () => {
  await using upstream = startUpstream(stream);
  await using collector = startCollector();
  const { OTEL_DENO: _, ...env } = collector.env;
  await using gateway = await serveFile(
    chatOnly(upstream.url, { port: 0 }),
    { env },
  );
  const url = gateway.url + PATHS.chat;
  assert.equal((await askOnce(url, ask("chat", chatBody))).status, 200);
  await gateway.line("request");
  gateway.kill("SIGTERM");
  assert.equal((await gateway.ended).code, 0);
  assert.equal(collector.exports(), 0);
});
