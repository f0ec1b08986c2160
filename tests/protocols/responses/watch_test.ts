import assert from "node:assert/strict";
import { responsesWatch } from "../../../src/protocols/responses/watch.ts";

Deno.test("responsesWatch.isOutput() sees deltas and items that are done", () => {
  for (
    const type of [
      "response.output_text.delta",
      "response.reasoning_summary_text.delta",
      "response.function_call_arguments.delta",
      "response.output_item.done",
    ]
  ) assert.ok(responsesWatch.isOutput({ type }), type);
});

Deno.test("responsesWatch.isOutput() passes over events that show nothing", () => {
  for (
    const type of [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.completed",
      "error",
      null,
      1,
    ]
  ) assert.ok(!responsesWatch.isOutput({ type }), String(type));
  assert.ok(!responsesWatch.isOutput({}));
});

Deno.test("responsesWatch.usageOf() reads the usage of an answer and of the event that holds one", () => {
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 3 },
  };
  for (const body of [{ usage }, { type: "x", response: { usage } }]) {
    assert.deepEqual(responsesWatch.usageOf(body), {
      inputTokens: 10,
      cachedInputTokens: 4,
      cacheWriteTokens: undefined,
      outputTokens: 5,
      reasoningTokens: 3,
      speed: undefined,
      serviceTier: undefined,
    });
  }
});

Deno.test("responsesWatch.usageOf() names a discounted window as the tier", () => {
  const tierOf = (completion_window: string) =>
    responsesWatch.usageOf({
      usage: { input_tokens: 1, output_tokens: 1 },
      service_tier: "default",
      background_options: { completion_window },
    })?.serviceTier;
  assert.equal(tierOf("8h"), "background_8h");
  assert.equal(tierOf("soonest"), "default");
});

Deno.test("responsesWatch.usageOf() keeps counts that later zeros deny", () => {
  const before = { inputTokens: 10, outputTokens: 5, reasoningTokens: 3 };
  const later = responsesWatch.usageOf({
    response: { usage: { input_tokens: 0, output_tokens: 6 } },
  }, before);
  assert.equal(later?.inputTokens, 10);
  assert.equal(later.outputTokens, 6);
  assert.equal(later.reasoningTokens, 3);
});

Deno.test("responsesWatch.usageOf() returns undefined where nothing is counted", () => {
  for (const body of [{}, { usage: null }, { response: null }, { usage: {} }]) {
    assert.equal(responsesWatch.usageOf(body), undefined, JSON.stringify(body));
  }
});

Deno.test("responsesWatch.isEnd() recognizes every end with its type at any place", () => {
  for (const end of ["completed", "done", "incomplete", "failed"]) {
    assert.ok(responsesWatch.isEnd(`{"type":"response.${end}","response":{`));
    assert.ok(
      responsesWatch.isEnd(`{"response":{},"type" : "response.${end}"}`),
    );
  }
  const others = [
    "",
    "[DONE]",
    '{"type":"response.in_progress"}',
    '{"type":"response.output_text.delta","delta":"\\"type\\":\\"response.completed\\""}',
    '{"type":"response.mcp_call.completed"}',
    '{"type":"error"}',
  ];
  for (const data of others) assert.ok(!responsesWatch.isEnd(data), data);
});
