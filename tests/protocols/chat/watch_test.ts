import assert from "node:assert/strict";
import type { JsonValue } from "../../../src/core/json.ts";
import { chatWatch } from "../../../src/protocols/chat/watch.ts";

const chunk = (delta: JsonValue) => ({
  choices: [{ index: 0, delta }],
});

Deno.test("chatWatch.isOutput() recognizes visible output", () => {
  const deltas: readonly JsonValue[] = [
    { content: "a" },
    { content: [{ type: "thinking", thinking: [] }] },
    { role: "assistant", reasoning_content: "a" },
    { reasoning: "a" },
    { tool_calls: [{ index: 0, id: "c", function: { name: "f" } }] },
    { function_call: { name: "f", arguments: "" } },
    { refusal: "no" },
    { audio: { id: "a", transcript: "" } },
  ];
  for (const delta of deltas) {
    assert.ok(chatWatch.isOutput(chunk(delta)), JSON.stringify(delta));
  }
  assert.ok(chatWatch.isOutput({ choices: [{ text: "legacy" }] }));
  assert.ok(chatWatch.isOutput({
    choices: [{ delta: {} }, { delta: { content: "second" } }],
  }));
});

Deno.test("chatWatch.isOutput() passes over chunks that show nothing", () => {
  const events = [
    {},
    { choices: [] },
    { choices: null },
    { choices: [null, "x"] },
    { choices: [{ finish_reason: "stop" }] },
    { choices: [{ delta: null }] },
    { choices: [{ text: "" }] },
    chunk({ role: "assistant", content: "" }),
    chunk({ role: "assistant", content: null, refusal: null, tool_calls: [] }),
    { usage: { prompt_tokens: 1 }, choices: [] },
    { error: { message: "no" } },
  ];
  for (const event of events) {
    assert.ok(!chatWatch.isOutput(event), JSON.stringify(event));
  }
});

Deno.test("chatWatch.usageOf() reads the usage of a chunk or an answer", () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 3 },
  };
  const expected = {
    inputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteTokens: undefined,
    cacheWrite1hTokens: undefined,
    outputTokens: 5,
    reasoningTokens: 3,
    speed: undefined,
    serviceTier: undefined,
  };
  assert.deepEqual(chatWatch.usageOf({ usage, choices: [] }), expected);
  assert.deepEqual(
    chatWatch.usageOf({ usage: null, choices: [{ delta: {}, usage }] }),
    expected,
    "as Moonshot sends it",
  );
  assert.deepEqual(
    chatWatch.usageOf({ choices: [], x_groq: { id: "r", usage } }),
    expected,
    "as Groq sends it",
  );
});

Deno.test("chatWatch.usageOf() keeps counts that later zeros deny", () => {
  const before = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 5 };
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const later = chatWatch.usageOf({ usage, choices: [] }, before);
  assert.equal(later?.inputTokens, 10);
  assert.equal(later.cachedInputTokens, 4);
  assert.equal(later.outputTokens, 5);
});

Deno.test("chatWatch.usageOf() returns undefined where nothing is counted", () => {
  for (const usage of [null, undefined, 1, "x", [], {}, { total_tokens: 3 }]) {
    const body = usage === undefined ? {} : { usage };
    assert.equal(chatWatch.usageOf(body), undefined, JSON.stringify(usage));
  }
  assert.equal(chatWatch.usageOf({ choices: [{}, null] }), undefined);
});

Deno.test("chatWatch.isEnd() recognizes [DONE] and the chunk that finishes", () => {
  const ends = [
    "[DONE]",
    '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
    '{"choices":[{"delta":{},"finish_reason" : "tool_calls","index":0}],"usage":{}}',
  ];
  for (const data of ends) assert.ok(chatWatch.isEnd(data), data);
});

Deno.test("chatWatch.isEnd() returns false for everything else", () => {
  const others = [
    "",
    '{"choices":[{"delta":{"content":"[DONE]"},"finish_reason":null}]}',
    '{"choices":[{"delta":{"content":"\\"finish_reason\\":\\"stop\\""}}]}',
    '{"choices":[{"delta":{},"finish_reason":""}]}',
    '{"choices":[{"delta":{},"finish_reason":"error"}],"error":{}}',
    '{"error":{"message":"no"}}',
  ];
  for (const data of others) assert.ok(!chatWatch.isEnd(data), data);
});
