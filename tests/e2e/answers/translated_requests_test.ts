import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { ask, hello } from "../../support/wire/ask.ts";
import { minimalFile } from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  PAIRS,
  pairsFile,
  sampleAnswer,
  upstreamAnswer,
} from "../../support/dialects/pairs.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

/** Fields that the upstream of a pair lacks, and that do not change the answer. */
const HINTS: readonly (readonly [
  from: Protocol,
  to: Protocol,
  field: JsonObject,
])[] = [
  ["chat", "messages", { seed: 7 }],
  ["chat", "responses", { seed: 7 }],
  ["messages", "chat", { context_management: { edits: [] } }],
  ["responses", "chat", { truncation: "auto" }],
];

for (const [from, to, field] of HINTS) {
  const model = modelOf(from, to);
  const [name = ""] = Object.keys(field);
  const body = hello(from, { model, ...field });
  Deno.test(`fields of a ${from} caller that a ${to} upstream does not accept are dropped, and named in the response and the log`, async () => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(pairsFile(upstream.url));
    for (const stream of [true, false]) {
      upstream.play(() => upstreamAnswer(to, sampleAnswer("one text"), stream));
      const asked = hello(from, { model, ...field, stream });
      const response = await gateway.ask(from, asked);
      await response.text();
      assert.equal(response.headers.get("x-gateway-dropped"), name);
      assert.deepEqual((await gateway.lines.of(response)).dropped, [name]);
      const { text } = await upstream.requests.next();
      assert.ok(!(name in JSON.parse(text())));
    }
  });

  Deno.test(`a strict connection rejects fields of a ${from} caller that a ${to} upstream does not accept`, async () => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(
      pairsFile(upstream.url, { strict: true }),
    );
    const error = await readError(await gateway.ask(from, body), from);
    assert.equal(error.status, 400);
    assert.equal(error.type, "invalid_request_error");
    assert.match(error.message, new RegExp(`\`${name}\``));
    if (from !== "messages") assert.equal(error.param, name);
    assert.equal(upstream.requests.items.length, 0);
  });
}

/** Fields whose loss would change the answer. */
const REFUSED: readonly (readonly [
  from: Protocol,
  to: Protocol,
  field: JsonObject,
])[] = [
  ["chat", "messages", { n: 2 }],
  ["chat", "responses", { n: 2 }],
  ["chat", "messages", { logprobs: true }],
  ["chat", "responses", { logit_bias: { "1": 2 } }],
  ["chat", "responses", { modalities: ["text", "audio"] }],
  ["messages", "chat", { mcp_servers: [{ type: "url", url: "u", name: "n" }] }],
  ["messages", "chat", { thread: { type: "create" } }],
  ["responses", "chat", { previous_response_id: "resp_1" }],
  ["responses", "chat", { conversation: "conv_1" }],
  ["responses", "chat", { background: true }],
];

Deno.test("a field whose loss would change the answer, or that refers to stored state, is rejected by name", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(pairsFile(upstream.url));
  for (const [from, to, field] of REFUSED) {
    const [name = ""] = Object.keys(field);
    await t.step(`${name}, ${from} to ${to}`, async () => {
      const body = hello(from, { model: modelOf(from, to), ...field });
      const response = await gateway.ask(from, body);
      assert.equal(response.status, 400);
      const { error } = await response.json();
      assert.equal(error.type, "invalid_request_error");
      assert.match(error.message, new RegExp(`\\b${name}\\b`));
      if (from !== "messages") assert.equal(error.param, name);
      if (name === "thread") {
        assert.deepEqual(error.details, {
          error_code: "thread_unsupported_request",
        });
      }
    });
  }
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("a connection's `force` and `omit` change the upstream's request, and the response names the removed fields", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(
    pairsFile(upstream.url, { force: { store: false }, omit: ["temperature"] }),
  );
  for (const { from, to, model } of PAIRS) {
    await t.step(`${from} to ${to}`, async () => {
      upstream.play(() => upstreamAnswer(to, sampleAnswer("one text"), false));
      const body = hello(from, { model, temperature: 0.5 });
      const response = await gateway.ask(from, body);
      await response.text();
      const sent = JSON.parse((await upstream.requests.next()).text());
      assert.equal(sent.store, false);
      assert.ok(!("temperature" in sent));
      assert.equal(response.headers.get("x-gateway-dropped"), "temperature");
    });
  }
});

Deno.test("a model's upstream name and token limit reach a translated upstream, and the caller sees the public name", async () => {
  await using upstream = startUpstream(() =>
    upstreamAnswer("messages", sampleAnswer("one text"), false)
  );
  const models = [{ id: "fast", upstream: "slow-1", max_output_tokens: 64 }];
  const endpoints = { messages: `${upstream.url}/v1` };
  await using gateway = await startGateway(minimalFile({
    connections: [familyConnection("B", upstream.url, { models, endpoints })],
  }));
  const body = hello("chat", { model: "fast", max_tokens: 1000 });
  const response = await gateway.ask("chat", body);
  assert.equal((await response.json()).model, "fast");
  const sent = JSON.parse((await upstream.requests.next()).text());
  assert.equal(sent.model, "slow-1");
  assert.equal(sent.max_tokens, 64);
  assert.equal(response.headers.get("x-gateway-dropped"), "max_tokens");
});

Deno.test("legacy completions are served through chat, whole and streamed", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(pairsFile(upstream.url));
  for (const stream of [false, true]) {
    await t.step(stream ? "streamed" : "whole", async () => {
      upstream.play(() =>
        upstreamAnswer("chat", sampleAnswer("one text"), stream)
      );
      const body = { model: "model-a", prompt: "Say hello", stream };
      const response = await gateway.call(
        "/v1/completions",
        ask("chat", JSON.stringify(body)),
      );
      const text = await response.text();
      const sent = JSON.parse((await upstream.requests.next()).text());
      assert.deepEqual(sent.messages, [{ role: "user", content: "Say hello" }]);
      const objects = stream
        ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) =>
          JSON.parse(data)
        )
        : [JSON.parse(text)];
      for (const { object } of objects) assert.equal(object, "text_completion");
      const words = objects.map(({ choices }) => choices[0]?.text ?? "");
      assert.equal(words.join(""), "Hello, wörld 👋");
      if (stream) assert.match(text, /data: \[DONE\]\n\n$/);
      const line = await gateway.lines.of(response);
      assert.equal(line.ended, "complete");
    });
  }
  const refused = await gateway.call(
    "/v1/completions",
    ask("chat", JSON.stringify({ model: "model-a", prompt: "Hi", echo: true })),
  );
  assert.equal((await readError(refused, "chat")).param, "echo");
});

function modelOf(from: Protocol, to: Protocol): string {
  return PAIRS.find((pair) => pair.from === from && pair.to === to)?.model ??
    "";
}
