import assert from "node:assert/strict";
import { randomIds } from "../../../src/base/ids.ts";
import { type JsonObject, objectsOf } from "../../../src/base/json.ts";
import { runStage } from "../../../src/base/stage.ts";
import type { Usage } from "../../../src/codecs/canonical/answer/answer.ts";
import { createStreamDecoder } from "../../../src/codecs/messages/stream/decode.ts";
import { messagesWatch } from "../../../src/codecs/messages/watch.ts";
import { steps } from "../../support/steps.ts";
import { yamlObject } from "../../support/yaml.ts";

Deno.test("messagesWatch.usageOf() adds cached tokens to the input", () => {
  const usage = {
    input_tokens: 1,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 300,
    output_tokens: 4,
    output_tokens_details: { thinking_tokens: 2 },
    cache_creation: {
      ephemeral_5m_input_tokens: 200,
      ephemeral_1h_input_tokens: 100,
    },
    service_tier: "standard",
    inference_geo: "us",
    speed: "fast",
  };
  const expected = {
    inputTokens: 321,
    cachedInputTokens: 20,
    cacheWriteTokens: 300,
    cacheWrite1hTokens: 100,
    outputTokens: 4,
    reasoningTokens: 2,
    speed: "fast",
    serviceTier: "standard",
    inferenceGeo: "us",
  };
  const start = { type: "message_start", message: { usage } };
  for (const body of [{ usage }, start]) {
    assert.deepEqual(messagesWatch.usageOf(body), expected);
  }
});

Deno.test("messagesWatch.usageOf() names the category of a refusal before any output", () => {
  const refused = (output_tokens: number, category?: string) => ({
    stop_reason: "refusal",
    stop_details: category === undefined ? null : { type: "refusal", category },
    usage: { input_tokens: 9, output_tokens },
  });
  const refusalIn = (body: JsonObject) => messagesWatch.usageOf(body)?.refusal;
  assert.equal(refusalIn(refused(0, "cyber")), "cyber");
  assert.equal(refusalIn(refused(1)), "other");
  assert.equal(refusalIn(refused(2, "cyber")), undefined);
  const { usage, ...delta } = refused(0, "bio");
  assert.equal(refusalIn({ type: "message_delta", delta, usage }), "bio");
  assert.equal(refusalIn({ stop_reason: "end_turn", usage }), undefined);
});

Deno.test("messagesWatch.usageOf() reads a message_delta with only output tokens", () => {
  const usage = messagesWatch.usageOf({
    type: "message_delta",
    usage: { output_tokens: 9 },
  });
  assert.equal(usage?.inputTokens, 0);
  assert.equal(usage?.outputTokens, 9);
});

Deno.test("messagesWatch.usageOf() reads the response of a token count", () => {
  assert.deepEqual(messagesWatch.usageOf({ input_tokens: 42 }), {
    inputTokens: 42,
    outputTokens: 0,
  });
});

Deno.test("messagesWatch.usageOf() merges later counts as the codec does", async (t) => {
  const cases = yamlObject(`
a smaller one: [{ input_tokens: 100, output_tokens: 40 }, { input_tokens: 90, output_tokens: 30 }]
only the output: [{ input_tokens: 10, cache_read_input_tokens: 1000, output_tokens: 1 }, { output_tokens: 30 }]
the input without the cache: [{ input_tokens: 10, cache_read_input_tokens: 1000, output_tokens: 1 }, { input_tokens: 12, output_tokens: 30 }]
the cache without the input: [{ input_tokens: 10, output_tokens: 1 }, { cache_creation_input_tokens: 500, output_tokens: 30 }]
zeros first: [{ input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }, { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 9 }]
zeros last: [{ input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 9 }, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }]
a zero for a new count: [{ input_tokens: 5, output_tokens: 9 }, { cache_read_input_tokens: 0, output_tokens: 9 }]
thinking counted only at the end: [{ input_tokens: 5, output_tokens: 1 }, { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } }, { output_tokens: 12 }]
`);
  await steps(t, Object.entries(cases), ([, usages]) => {
    const [first, ...rest] = objectsOf(usages);
    const events: JsonObject[] = [
      { type: "message_start", message: { usage: first ?? {} } },
      ...rest.map((usage) => ({ type: "message_delta", usage })),
    ];
    let seen: Usage | undefined;
    for (const event of events) seen = messagesWatch.usageOf(event, seen);
    const frames = [...events, { type: "message_stop" }].map((event) => ({
      data: JSON.stringify(event),
    }));
    const end = runStage(createStreamDecoder(randomIds), frames).at(-1);
    assert.ok(end?.type === "end");
    const { providerMetadata: _providerMetadata, ...counts } = end.usage ??
      assert.fail("no usage");
    assert.deepEqual(seen, counts);
  });
});
