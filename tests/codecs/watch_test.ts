import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../src/base/json.ts";
import { type Protocol, PROTOCOLS } from "../../src/base/protocol.ts";
import { CODECS } from "../../src/codecs/codecs.ts";

// The facts that the watch of each protocol finds in native answers.

interface Seen {
  /** Events with output. */
  readonly output: readonly JsonObject[];
  /** Events without output. */
  readonly silent: readonly JsonObject[];
  /** Answers and events that count no tokens. */
  readonly uncounted: readonly JsonObject[];
  /** The data of regular ends. */
  readonly ends: readonly string[];
  /** The data of other events. */
  readonly others: readonly string[];
}

const chunk = (delta: JsonValue) => ({ choices: [{ index: 0, delta }] });
const start = (content_block?: JsonValue) => ({
  type: "content_block_start",
  ...(content_block === undefined ? {} : { content_block }),
});
const delta = (value: JsonObject) => ({
  type: "content_block_delta",
  delta: value,
});
const typed = (...types: readonly JsonValue[]) =>
  types.map((type) => ({ type }));

const SEEN: Readonly<Record<Protocol, Seen>> = {
  chat: {
    output: [
      chunk({ content: "a" }),
      chunk({ content: [{ type: "thinking", thinking: [] }] }),
      chunk({ role: "assistant", reasoning_content: "a" }),
      chunk({ reasoning: "a" }),
      chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "f" } }] }),
      chunk({ function_call: { name: "f", arguments: "" } }),
      chunk({ refusal: "no" }),
      chunk({ audio: { id: "a", transcript: "" } }),
      { choices: [{ text: "legacy" }] },
      { choices: [{ delta: {} }, { delta: { content: "second" } }] },
    ],
    silent: [
      {},
      { choices: [] },
      { choices: null },
      { choices: [null, "x"] },
      { choices: [{ finish_reason: "stop" }] },
      { choices: [{ delta: null }] },
      { choices: [{ text: "" }] },
      chunk({ role: "assistant", content: "" }),
      chunk({
        role: "assistant",
        content: null,
        refusal: null,
        tool_calls: [],
      }),
      { usage: { prompt_tokens: 1 }, choices: [] },
      { error: { message: "no" } },
    ],
    uncounted: [
      {},
      ...[null, 1, "x", [], {}, { total_tokens: 3 }].map((usage) => ({
        usage,
      })),
      { choices: [{}, null] },
    ],
    ends: [
      "[DONE]",
      '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
      '{"choices":[{"delta":{},"finish_reason" : "tool_calls","index":0}],"usage":{}}',
    ],
    others: [
      '{"choices":[{"delta":{"content":"[DONE]"},"finish_reason":null}]}',
      '{"choices":[{"delta":{"content":"\\"finish_reason\\":\\"stop\\""}}]}',
      '{"choices":[{"delta":{},"finish_reason":""}]}',
      '{"choices":[{"delta":{},"finish_reason":"error"}],"error":{}}',
      '{"error":{"message":"no"}}',
    ],
  },
  messages: {
    output: [
      delta({ type: "text_delta", text: "a" }),
      delta({ type: "thinking_delta", thinking: "" }),
      start({ type: "tool_use" }),
      start({ type: "redacted_thinking" }),
    ],
    silent: [
      { type: "message_start", message: {} },
      start({ type: "text", text: "" }),
      start({ type: "thinking" }),
      start(null),
      start(),
      { type: "message_delta", delta: {} },
      { type: "error", error: {} },
      ...typed("ping", "content_block_stop", "message_stop"),
      {},
    ],
    uncounted: [
      {},
      { usage: null },
      { usage: {} },
      { message: null },
      { message: {} },
      { usage: { input_tokens: -1 } },
      { input_tokens: "42" },
    ],
    ends: [
      '{"type":"message_stop"}',
      '{"type": "message_stop" }',
      '{"amazon-bedrock-invocationMetrics":{},"type":"message_stop"}',
    ],
    others: [
      "[DONE]",
      '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
      '{"type":"content_block_delta","delta":{"text":"\\"type\\":\\"message_stop\\""}}',
      '{"type":"error","error":{}}',
    ],
  },
  responses: {
    output: typed(
      "response.output_text.delta",
      "response.reasoning_summary_text.delta",
      "response.function_call_arguments.delta",
      "response.output_item.done",
    ),
    silent: [
      ...typed("response.created", "response.in_progress", "error", null, 1),
      ...typed("response.output_item.added", "response.content_part.added"),
      ...typed("response.completed"),
      {},
    ],
    uncounted: [{}, { usage: null }, { response: null }, { usage: {} }],
    ends: ["completed", "done", "incomplete", "failed"].flatMap((end) => [
      `{"type":"response.${end}","response":{`,
      `{"response":{},"type" : "response.${end}"}`,
    ]),
    others: [
      "[DONE]",
      '{"type":"response.in_progress"}',
      '{"type":"response.output_text.delta","delta":"\\"type\\":\\"response.completed\\""}',
      '{"type":"response.mcp_call.completed"}',
      '{"type":"error"}',
    ],
  },
};

for (const protocol of PROTOCOLS) {
  const { watch } = CODECS[protocol];
  const { output, silent, uncounted, ends, others } = SEEN[protocol];

  Deno.test(`the watch of ${protocol} recognizes events with output`, () => {
    for (const event of output) {
      assert.ok(watch.isOutput(event), JSON.stringify(event));
    }
    for (const event of silent) {
      assert.ok(!watch.isOutput(event), JSON.stringify(event));
    }
  });

  Deno.test(`the watch of ${protocol} returns no usage without counts`, () => {
    for (const body of uncounted) {
      assert.equal(watch.usageOf(body), undefined, JSON.stringify(body));
    }
  });

  Deno.test(`the watch of ${protocol} recognizes regular ends, with the type at any place`, () => {
    for (const data of ends) assert.ok(watch.isEnd(data), data);
    for (const data of ["", ...others]) assert.ok(!watch.isEnd(data), data);
  });
}
