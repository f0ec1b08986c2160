import assert from "node:assert/strict";
import { messagesWatch } from "../../../src/protocols/messages/watch.ts";

Deno.test("messagesWatch.isOutput() sees deltas, and blocks that are something from the start", () => {
  const events = [
    { type: "content_block_delta", delta: { type: "text_delta", text: "a" } },
    {
      type: "content_block_delta",
      delta: { type: "thinking_delta", thinking: "" },
    },
    { type: "content_block_start", content_block: { type: "tool_use" } },
    {
      type: "content_block_start",
      content_block: { type: "redacted_thinking" },
    },
  ];
  for (const event of events) {
    assert.ok(messagesWatch.isOutput(event), JSON.stringify(event));
  }
});

Deno.test("messagesWatch.isOutput() passes over events that show nothing", () => {
  const events = [
    { type: "message_start", message: {} },
    { type: "ping" },
    { type: "content_block_start", content_block: { type: "text", text: "" } },
    { type: "content_block_start", content_block: { type: "thinking" } },
    { type: "content_block_start", content_block: null },
    { type: "content_block_start" },
    { type: "content_block_stop" },
    { type: "message_delta", delta: {} },
    { type: "message_stop" },
    { type: "error", error: {} },
    {},
  ];
  for (const event of events) {
    assert.ok(!messagesWatch.isOutput(event), JSON.stringify(event));
  }
});

Deno.test("messagesWatch.usageOf() adds to the input what a cache gave and took", () => {
  const usage = {
    input_tokens: 1,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 300,
    output_tokens: 4,
    output_tokens_details: { thinking_tokens: 2 },
    service_tier: "standard",
  };
  const expected = {
    inputTokens: 321,
    cachedInputTokens: 20,
    cacheWriteTokens: 300,
    outputTokens: 4,
    reasoningTokens: 2,
  };
  const start = { type: "message_start", message: { usage } };
  for (const body of [{ usage }, start]) {
    assert.deepEqual(messagesWatch.usageOf(body), expected);
  }
});

Deno.test("messagesWatch.usageOf() reads the output alone of a message_delta", () => {
  const usage = messagesWatch.usageOf({
    type: "message_delta",
    usage: { output_tokens: 9 },
  });
  assert.equal(usage?.inputTokens, 0);
  assert.equal(usage?.outputTokens, 9);
});

Deno.test("messagesWatch.usageOf() reads the answer of a count of tokens", () => {
  assert.deepEqual(messagesWatch.usageOf({ input_tokens: 42 }), {
    inputTokens: 42,
    outputTokens: 0,
  });
});

Deno.test("messagesWatch.usageOf() gives undefined where nothing is counted", () => {
  const bodies = [
    {},
    { usage: null },
    { usage: {} },
    { message: null },
    { message: {} },
    { usage: { input_tokens: -1 } },
    { input_tokens: "42" },
  ];
  for (const body of bodies) {
    assert.equal(messagesWatch.usageOf(body), undefined, JSON.stringify(body));
  }
});

Deno.test("messagesWatch.isEnd() knows message_stop wherever its type stands", () => {
  const ends = [
    '{"type":"message_stop"}',
    '{"type": "message_stop" }',
    '{"amazon-bedrock-invocationMetrics":{},"type":"message_stop"}',
  ];
  for (const data of ends) assert.ok(messagesWatch.isEnd(data), data);
  const others = [
    "",
    "[DONE]",
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    '{"type":"content_block_delta","delta":{"text":"\\"type\\":\\"message_stop\\""}}',
    '{"type":"error","error":{}}',
  ];
  for (const data of others) assert.ok(!messagesWatch.isEnd(data), data);
});
