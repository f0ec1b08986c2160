import assert from "node:assert/strict";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { foldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import {
  MAX_BLOCKS,
  MAX_HELD_CHARACTERS,
} from "../../../../src/codecs/canonical/max_sizes.ts";
import { chatCodec } from "../../../../src/codecs/chat/mod.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import {
  answerContext,
  decodeBytes,
  plain,
} from "../../../contract/codec_contract.ts";
import { userRequest } from "../../../support/dialects/upstream_request.ts";
import { sseBytes } from "../../../support/wire/sse_bytes.ts";
import { steps } from "../../../support/steps.ts";
import { yamlPairs } from "../../../support/yaml_table.ts";

type Json = Record<string, unknown>;

const IDENTITY = { id: "c-1", created: 1_700_000_000, model: "gpt-x" };

function chunk(delta: Json, rest: Json = {}): Json {
  return { ...IDENTITY, choices: [{ index: 0, delta, ...rest }] };
}

function events(...data: readonly unknown[]): AnswerEvent[] {
  return decodeBytes(chatCodec, sseBytes(...data));
}

/** Returns the answer of a stream with a regular end. */
function answerOf(...data: readonly unknown[]) {
  return foldAnswer(events(...data, "[DONE]"));
}

/** Returns the blocks of a stream of these chunks. */
function blocksOf(...data: readonly unknown[]): unknown {
  return plain(answerOf(...data).blocks);
}

/** Returns a chunk of text. */
function says(content: string, rest: Json = {}): Json {
  return chunk({ content }, rest);
}

/** Returns the chunk of a stop reason. */
function ends(finish_reason: string, rest: Json = {}): Json {
  return chunk({}, { finish_reason, ...rest });
}

function calls(...entries: Json[]): Json {
  return chunk({ tool_calls: entries });
}

/** Returns one piece of a tool call. */
function piece(
  index?: number,
  id?: string,
  name?: string,
  text?: unknown,
): Json {
  const called = { name, arguments: text };
  const entry = { index, id, type: "function", function: called };
  return JSON.parse(JSON.stringify(entry));
}

/** Returns the block of a complete tool call. */
function called(id: string, name = "f", text = "{}"): Json {
  return { kind: "function_call", id, name, arguments: text };
}

/** Returns the failure that ends a stream. */
function failureOf(...data: readonly unknown[]) {
  return lastFailure(events(...data));
}

function lastFailure(all: readonly AnswerEvent[]) {
  const last = all.at(-1);
  return last?.type === "failure"
    ? last.failure
    : assert.fail(`ended with ${last?.type}`);
}

Deno.test("a Chat stream's events have the model, the time, the stop reason and the usage", () => {
  const answer = answerOf(
    chunk({ role: "assistant", content: "" }),
    says("Hi"),
    { ...ends("length"), service_tier: "flex" },
    {
      ...IDENTITY,
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    },
  );
  assert.deepEqual(plain(answer), {
    id: "c-1",
    model: "gpt-x",
    createdAtMs: 1_700_000_000_000,
    blocks: [{ kind: "text", text: "Hi" }],
    stop: { reason: "max_tokens", raw: { protocol: "chat", value: "length" } },
    usage: { inputTokens: 3, outputTokens: 2 },
    serviceTier: { protocol: "chat", value: "flex" },
  });
});

Deno.test("a Chat stream begins with the first chunk of the answer, not with a check of the prompt", () => {
  const [first, second] = events(
    { choices: [], id: "", model: "", prompt_filter_results: [] },
    says("Hi"),
  );
  assert.deepEqual(plain(first), {
    type: "start",
    id: "c-1",
    model: "gpt-x",
    createdAtMs: 1_700_000_000_000,
  });
  assert.equal(second?.type, "block-start");
});

Deno.test("a Chat stream emits text as it arrives", () => {
  const deltas = events(says("a"), says("b"))
    .filter(({ type }) => type === "block-delta");
  assert.deepEqual(deltas, [
    { type: "block-delta", index: 0, text: "a" },
    { type: "block-delta", index: 0, text: "b" },
  ]);
});

Deno.test("a Chat stream's reasoning, text and refusal become separate blocks", async (t) => {
  const streams: Record<string, Json[]> = {
    "in reasoning_content": [
      chunk({ reasoning_content: "th" }),
      chunk({ reasoning_content: "ink", content: null }),
    ],
    "in reasoning": [
      chunk({ reasoning: "th" }),
      chunk({ reasoning: "ink", content: "" }),
    ],
    "in reasoning_text": [chunk({ reasoning_text: "think" })],
    "in reasoning_details": [
      chunk({ reasoning_details: [{ type: "reasoning.text", text: "think" }] }),
    ],
    "in two fields, with the same text": [
      chunk({
        reasoning: "think",
        reasoning_details: [{ type: "reasoning.text", text: "think" }],
      }),
    ],
    "in parts of content": [
      chunk({
        content: [{
          type: "thinking",
          thinking: [{ type: "text", text: "think" }],
        }],
      }),
    ],
  };
  for (const [name, thoughts] of Object.entries(streams)) {
    await t.step(name, () =>
      assert.deepEqual(
        blocksOf(...thoughts, says("so"), chunk({ refusal: "no" })),
        [
          { kind: "reasoning", parts: [{ form: "raw", text: "think" }] },
          { kind: "text", text: "so" },
          { kind: "refusal", text: "no" },
        ],
      ));
  }
});

Deno.test("a Chat stream's content may be parts or an object", () => {
  assert.deepEqual(
    blocksOf(
      chunk({
        content: [{ type: "text", text: "a" }, 7, {
          type: "refusal",
          refusal: "b",
        }],
      }),
    ),
    [{ kind: "text", text: "a" }, { kind: "refusal", text: "b" }],
  );
  assert.deepEqual(blocksOf(chunk({ content: { a: 1 } })), [{
    kind: "text",
    text: '{"a":1}',
  }]);
});

Deno.test("a Chat stream's sealed reasoning joins the reasoning before it, or becomes the last block", () => {
  const signed = [
    chunk({
      reasoning_details: [{ type: "reasoning.text", text: "thi", index: 0 }],
    }),
    chunk({
      reasoning_details: [{
        type: "reasoning.text",
        text: "nk",
        index: 0,
        signature: null,
      }],
    }),
    chunk({
      reasoning_details: [{
        type: "reasoning.text",
        signature: "sig",
        index: 0,
      }],
    }),
    says("so"),
  ];
  const sealed = (value: unknown) => ({
    protocol: "chat",
    form: "reasoning_details",
    value: JSON.stringify(value),
  });
  assert.deepEqual(blocksOf(...signed), [
    {
      kind: "reasoning",
      parts: [{ form: "raw", text: "think" }],
      sealed: sealed([{
        type: "reasoning.text",
        text: "think",
        index: 0,
        signature: "sig",
      }]),
    },
    { kind: "text", text: "so" },
  ]);
  const encrypted = [
    { type: "reasoning.encrypted", data: "a", index: 0 },
    { type: "reasoning.encrypted", data: "b", index: 0 },
  ];
  assert.deepEqual(
    blocksOf(says("so"), chunk({ reasoning_details: encrypted })),
    [
      { kind: "text", text: "so" },
      { kind: "reasoning", parts: [], sealed: sealed(encrypted) },
    ],
  );
});

Deno.test("a Chat stream's tool calls are assembled", async (t) => {
  const one = called("c1", "f", '{"a":1}');
  const two = called("c2", "g", '{"b":2}');
  const whole = piece(0, "c1", "f", '{"a":1}');
  const first = (...given: Parameters<typeof piece>) => calls(piece(...given));
  const more = (index: number | undefined, text: string) =>
    first(index, undefined, undefined, text);
  const streams: Record<string, [chunks: Json[], blocks: unknown[]]> = {
    "from pieces": [[
      first(0, "c1", "f", ""),
      more(0, '{"a"'),
      more(0, ":1}"),
    ], [one]],
    "from one piece": [[calls(whole)], [one]],
    "two in one chunk": [[
      calls(whole, piece(1, "c2", "g", '{"b":2}')),
    ], [one, two]],
    "interleaved": [
      [
        first(0, "c1", "f", ""),
        first(1, "c2", "g", ""),
        more(0, '{"a"'),
        more(1, '{"b"'),
        more(0, ":1}"),
        more(1, ":2}"),
      ],
      [one, two],
    ],
    "all at index 0": [
      [
        first(0, "c1", "f", '{"a"'),
        more(0, ":1}"),
        first(0, "c2", "g", '{"b"'),
        more(0, ":2}"),
      ],
      [one, two],
    ],
    "without an index": [
      [
        first(undefined, "c1", "f", '{"a"'),
        more(undefined, ":1}"),
        first(undefined, "c2", "g", '{"b":2}'),
      ],
      [one, two],
    ],
    "from an index that is not 0": [[first(-1, "c1", "f", '{"a":1}')], [one]],
    "with the id and the name in every piece": [
      [
        first(0, "c1", "f", ""),
        first(0, "c1", "f", '{"a"'),
        first(0, "c1", "f", ":1}"),
      ],
      [one],
    ],
    "with an empty id on later pieces": [[
      first(0, "c1", "f", '{"a"'),
      first(0, "", undefined, ":1}"),
    ], [one]],
    "with a name in pieces": [
      [
        first(0, "c1", "get_", ""),
        first(0, undefined, "time", ""),
        more(0, "{}"),
      ],
      [{ ...one, name: "get_time", arguments: "{}" }],
    ],
    "with arguments before the name": [
      [first(0, "c1", undefined, '{"a"'), first(0, undefined, "f", ":1}")],
      [one],
    ],
    "with an object as arguments": [[first(0, "c1", "f", { a: 1 })], [one]],
    "with null as arguments": [[first(0, "c1", "f", null)], [{
      ...one,
      arguments: "",
    }]],
    "without arguments": [[
      calls({ index: 0, id: "c1", function: { name: "f" } }),
    ], [{ ...one, arguments: "" }]],
    "without an id": [
      [first(0, "", "f", '{"a":1}'), first(1, undefined, "g", '{"b":2}')],
      [{ ...one, id: "call_0001" }, { ...two, id: "call_0002" }],
    ],
    "whose id comes late": [
      [first(0, undefined, "f", ""), first(0, "c1", undefined, '{"a":1}')],
      [one],
    ],
    "without index and id": [
      [
        first(undefined, undefined, "f", '{"a":1}'),
        first(undefined, undefined, "g", '{"b":2}'),
      ],
      [{ ...one, id: "call_0001" }, { ...two, id: "call_0002" }],
    ],
    "of a custom tool": [
      [
        calls({
          index: 0,
          id: "c1",
          type: "custom",
          custom: { name: "p", input: "" },
        }),
        calls({ index: 0, custom: { input: "raw" } }),
      ],
      [{ kind: "custom_call", id: "c1", name: "p", input: "raw" }],
    ],
    "in the deprecated form": [
      [
        chunk({ function_call: { name: "f", arguments: "" } }),
        chunk({ function_call: { arguments: '{"a":1}' } }),
      ],
      [{ ...one, id: "call_0001" }],
    ],
    "with Gemini's signature": [
      [calls({ ...whole, extra_content: { google: 1 } })],
      [{
        ...one,
        sealed: {
          protocol: "chat",
          form: "extra_content",
          value: '{"google":1}',
        },
      }],
    ],
    "after text": [[
      says("so"),
      calls(whole),
    ], [{ kind: "text", text: "so" }, one]],
    "complete, and repeated in a message at the end": [
      [
        calls(whole),
        {
          ...IDENTITY,
          choices: [{ index: 0, message: { tool_calls: [whole] } }],
        },
      ],
      [one],
    ],
    "repeated with another id, which is another call": [
      [calls(whole), first(0, "c2", "f", '{"a":1}')],
      [one, { ...one, id: "c2" }],
    ],
  };
  for (const [name, [chunks, blocks]] of Object.entries(streams)) {
    await t.step(name, () => assert.deepEqual(blocksOf(...chunks), blocks));
  }
});

Deno.test("a Chat stream's thought signatures become sealed parts of the call or text beside them", async (t) => {
  const signed = (value: string, platform = "google") => ({
    extra_content: { [platform]: { thought_signature: value } },
  });
  const sealed = (value: string, platform = "google") => ({
    protocol: "chat",
    form: "extra_content",
    value: JSON.stringify(signed(value, platform).extra_content),
  });
  const call = (index: number) => piece(index, `c${index}`, "f", "{}");
  const streams: Record<string, [chunks: Json[], blocks: unknown[]]> = {
    "on the first of parallel calls": [
      [calls({ ...call(0), ...signed("s") }, call(1))],
      [{ ...called("c0"), sealed: sealed("s") }, called("c1")],
    ],
    "after the call": [
      [calls(call(0)), calls({ index: 0, ...signed("s") })],
      [{ ...called("c0"), sealed: sealed("s") }],
    ],
    "in Vertex's field": [
      [calls({ ...call(0), ...signed("s", "vertex") })],
      [{ ...called("c0"), sealed: sealed("s", "vertex") }],
    ],
    "before an empty one": [
      [
        calls({ ...call(0), ...signed("s") }),
        calls({ index: 0, extra_content: {} }),
        calls({ index: 0, extra_content: null }),
      ],
      [{ ...called("c0"), sealed: sealed("s") }],
    ],
    "after the text": [
      [says("so"), chunk({ content: "", ...signed("s") })],
      [
        { kind: "text", text: "so" },
        { kind: "reasoning", parts: [], sealed: sealed("s") },
      ],
    ],
    "beside a text that is marked as reasoning": [
      [
        chunk({ content: "hm", extra_content: { google: { thought: true } } }),
        says("so"),
      ],
      [
        { kind: "reasoning", parts: [{ form: "raw", text: "hm" }] },
        { kind: "text", text: "so" },
      ],
    ],
  };
  for (const [name, [chunks, blocks]] of Object.entries(streams)) {
    await t.step(name, () => assert.deepEqual(blocksOf(...chunks), blocks));
  }
});

Deno.test("a Chat stream's stop reason is corrected to match the stream's calls", () => {
  const call = calls(piece(0, "c1", "f", "{}"));
  const nameless = calls(piece(0, "c1", undefined, "{}"));
  const cases: [chunks: Json[], reason: string][] = [
    [[call, ends("stop")], "tool_calls"],
    [[call], "tool_calls"],
    [[call, ends("length")], "max_tokens"],
    [[says("x", { finish_reason: "tool_calls" })], "end"],
    [[nameless, ends("length")], "max_tokens"],
    [[says("x")], "end"],
    [[ends("content_filter")], "filtered"],
    [[ends("weird")], "other"],
    [[ends("constructor")], "other"],
  ];
  for (const [chunks, reason] of cases) {
    assert.equal(answerOf(...chunks).stop.reason, reason);
  }
});

Deno.test("a Chat stream's stop reason has the meaning of the provider's finish_reason", () => {
  const words: [word: string, reason: string][] = [
    ["stop", "end"],
    ["eos_token", "end"],
    ["tool_call", "end"],
    ["MAX_TOKENS", "max_tokens"],
    ["model_context_window_exceeded", "context_full"],
    ["model_length", "context_full"],
    ["sensitive", "filtered"],
    ["PROHIBITED_CONTENT", "filtered"],
    ["content_filter: RECITATION", "filtered"],
    ["weird", "other"],
  ];
  for (const [finish_reason, reason] of words) {
    const { stop } = answerOf(says("x"), ends(finish_reason));
    assert.equal(stop.reason, reason, finish_reason);
  }
});

Deno.test("a Chat stream fails when its finish_reason means a failure", () => {
  const words: [word: string, kind: string][] = [
    ["error", "server"],
    ["network_error", "server"],
    ["abort", "server"],
    ["insufficient_system_resource", "overloaded"],
    ["MALFORMED_FUNCTION_CALL", "broken"],
    ["function_call_filter: MALFORMED_FUNCTION_CALL", "broken"],
  ];
  for (const [finish_reason, kind] of words) {
    const failure = failureOf(says("x"), ends(finish_reason), "[DONE]");
    assert.equal(failure.kind, kind, finish_reason);
  }
});

Deno.test("a Chat stream reports that the prompt is too long when the context is full before any output", () => {
  const finish_reason = "model_context_window_exceeded";
  assert.equal(
    failureOf(chunk({ role: "assistant" }), ends(finish_reason)).kind,
    "context_too_long",
  );
});

Deno.test("a Chat stream continues after a finish_reason with the text `null`", () => {
  const { blocks } = answerOf(
    says("a", { finish_reason: "null" }),
    says("b", { finish_reason: "stop" }),
  );
  assert.deepEqual(plain(blocks), [{ kind: "text", text: "ab" }]);
  assert.equal(failureOf(says("a", { finish_reason: "null" })).kind, "broken");
});

Deno.test("a Chat stream's stop reason is the worst of all that the router and the router's provider sent", () => {
  const call = calls(piece(0, "c1", "f", "{}"));
  const reasonOf = (...ends: Json[]) =>
    answerOf(call, ...ends.map((end) => chunk({}, end))).stop.reason;
  const routed = (finish_reason: string, native_finish_reason: string | null) =>
    reasonOf({ finish_reason, native_finish_reason });
  assert.equal(routed("tool_calls", "length"), "max_tokens");
  assert.equal(routed("tool_calls", "MAX_TOKENS"), "max_tokens");
  assert.equal(routed("stop", "content_filter"), "filtered");
  assert.equal(routed("length", "stop"), "max_tokens");
  assert.equal(routed("tool_calls", "STOP"), "tool_calls");
  assert.equal(routed("tool_calls", "unheard of"), "tool_calls");
  assert.equal(routed("tool_calls", null), "tool_calls");
  assert.equal(
    reasonOf({ finish_reason: "length" }, { finish_reason: "stop" }),
    "max_tokens",
  );
  assert.equal(
    failureOf(
      call,
      ends("stop", { native_finish_reason: "MALFORMED_FUNCTION_CALL" }),
    ).kind,
    "broken",
  );
});

Deno.test("a Chat stream's end names the matched stop string, if the provider does", () => {
  const stopOf = (end: Json) => {
    const { stop } = answerOf(says("x"), ends("stop", end));
    return [stop.reason, stop.sequence];
  };
  assert.deepEqual(stopOf({ stop_reason: "END" }), ["stop_sequence", "END"]);
  assert.deepEqual(stopOf({ matched_stop: "END" }), ["stop_sequence", "END"]);
  assert.deepEqual(stopOf({ stop_reason: 151_645 }), ["end", undefined]);
  assert.deepEqual(stopOf({ matched_stop: 2 }), ["end", undefined]);
  assert.deepEqual(stopOf({ stop_reason: null }), ["end", undefined]);
  assert.deepEqual(stopOf({ stop_reason: "end_turn" }), ["end", undefined]);
});

const COUNTS = { prompt_tokens: 10, completion_tokens: 5 };

Deno.test("a Chat stream's usage is the last usage with counts, in any chunk", async (t) => {
  const usage = COUNTS;
  const streams: Record<string, Json[]> = {
    "in a separate chunk": [ends("stop"), {
      ...IDENTITY,
      choices: [],
      usage,
    }],
    "in a chunk without choices": [ends("stop"), { usage }],
    "beside the finish_reason": [{ ...ends("stop"), usage }],
    "only in x_groq": [{ ...ends("stop"), x_groq: { id: "req_1", usage } }],
    "in the choice": [ends("stop", { usage })],
    "in every chunk": [{
      ...says("a"),
      usage: { prompt_tokens: 10, completion_tokens: 1 },
    }, { ...chunk({}), usage }],
    "before nulls": [{ ...chunk({}), usage }, { ...ends("stop"), usage: null }],
    "in the names of other protocols": [{
      ...chunk({}),
      usage: { input_tokens: 10, output_tokens: 5 },
    }],
  };
  await steps(t, Object.entries(streams), ([, chunks]) => {
    const { usage } = answerOf(...chunks);
    assert.deepEqual([usage?.inputTokens, usage?.outputTokens], [10, 5]);
  });
  await t.step("absent when there are no counts", () => {
    assert.equal(
      answerOf({ ...chunk({}), usage: { prompt_tokens: null } }).usage,
      undefined,
    );
  });
});

Deno.test("a Chat stream's usage counts cached, written and reasoning tokens", async (t) => {
  const usages = yamlPairs(`
as OpenAI does: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 3 } } → { inputTokens: 10, cachedInputTokens: 4,
  cacheWriteTokens: 2, outputTokens: 5, reasoningTokens: 3 }
as DeepSeek does: { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 4 } →
  { inputTokens: 10, cachedInputTokens: 4, outputTokens: 5 }
as xAI does, with reasoning outside of the completion: { prompt_tokens: 10,
  completion_tokens: 5, total_tokens: 18, completion_tokens_details: { reasoning_tokens: 3 } } →
  { inputTokens: 10, outputTokens: 8, reasoningTokens: 3 }
as Gemini does, with reasoning only in the total: { prompt_tokens: 10, completion_tokens: 5,
  total_tokens: 18 } → { inputTokens: 10, outputTokens: 8 }
as Mistral does, with seconds of sound: { prompt_audio_seconds: 20, prompt_tokens: 4,
  completion_tokens: 635, total_tokens: 3264 } → { inputTokens: 2629, outputTokens: 635 }
with tokens of sound beside the prompt: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115,
  prompt_tokens_details: { audio_tokens: 100 } } → { inputTokens: 110, outputTokens: 5 }
with tokens of sound in the prompt: { prompt_tokens: 110, completion_tokens: 5,
  total_tokens: 115, prompt_tokens_details: { audio_tokens: 100 },
  completion_tokens_details: { reasoning_tokens: 0 } } → { inputTokens: 110, outputTokens: 5,
  reasoningTokens: 0 }
without tokens that no detail explains: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 99,
  completion_tokens_details: { reasoning_tokens: 0 } } → { inputTokens: 10, outputTokens: 5,
  reasoningTokens: 0 }
as gateways to Claude do: { prompt_tokens: 10, completion_tokens: 5, cache_read_input_tokens: 4,
  cache_creation_input_tokens: 2 } → { inputTokens: 10, cachedInputTokens: 4, cacheWriteTokens: 2,
  outputTokens: 5 }
`);
  await steps(t, usages, ([, usage, expected]) => {
    const answer = answerOf({ ...chunk({}), usage });
    assert.deepEqual(plain(answer.usage), expected);
  });
});

Deno.test("a Chat stream's annotations become citations of its text", () => {
  const annotation = {
    type: "url_citation",
    url_citation: {
      url: "https://example.com",
      title: "T",
      content: "q",
      start_index: 1,
      end_index: 4,
    },
  };
  const other = { type: "file", file: {} };
  const [block] = answerOf(
    says("text"),
    chunk({ annotations: [annotation, other, 7] }),
  ).blocks;
  assert.deepEqual(plain(block?.kind === "text" ? block.citations : []), [
    {
      url: "https://example.com",
      title: "T",
      quote: "q",
      startIndex: 1,
      endIndex: 4,
      raw: { protocol: "chat", value: annotation },
    },
    { raw: { protocol: "chat", value: other } },
  ]);
});

Deno.test("a Chat stream's citations get offsets in their block", () => {
  const annotation = (start_index: number, end_index: number) => ({
    type: "url_citation",
    url_citation: { url: "https://example.com", start_index, end_index },
  });
  const { blocks } = answerOf(
    says("Look. "),
    chunk({ reasoning_content: "hm" }),
    says("It rains"),
    chunk({ annotations: [annotation(9, 14), annotation(0, 4)] }),
  );
  const last = blocks.at(-1);
  assert.ok(last?.kind === "text");
  assert.deepEqual(
    last.citations?.map(({ startIndex, endIndex }) => [startIndex, endIndex]),
    [[3, 8], [undefined, undefined]],
  );
});

Deno.test("a Chat stream's other choices and unknown frames are ignored", () => {
  assert.deepEqual(
    blocksOf(
      { type: "ping" },
      {
        ...IDENTITY,
        choices: [{ index: 1, delta: { content: "other" } }, {
          index: 0,
          delta: { content: "first" },
        }],
      },
      { ...IDENTITY, choices: [7, null] },
      chunk({ obfuscation: "x" }),
    ),
    [{ kind: "text", text: "first" }],
  );
});

Deno.test("a Chat stream's choices without an index are parts of the first choice", () => {
  assert.deepEqual(
    blocksOf({
      ...IDENTITY,
      choices: [
        { delta: { content: "a" } },
        { index: null, delta: { content: "b" } },
        { index: 1, delta: { content: "other" } },
        { index: 0, delta: { content: "c" } },
      ],
    }),
    [{ kind: "text", text: "abc" }],
  );
});

Deno.test("a Chat stream may end without [DONE] after a finish_reason", () => {
  const last = events(says("a"), ends("stop")).at(-1);
  assert.equal(last?.type, "end");
});

Deno.test("a Chat stream fails as broken", async (t) => {
  const call = calls(piece(0, "c1", "f", "{"));
  const streams: Record<string, unknown[]> = {
    "without an end of the answer": [says("a")],
    "without any event": [],
    "with only [DONE]": ["[DONE]"],
    "for an event that is not JSON": [says("a"), "{oops", "[DONE]"],
    "for an event that is not an object": [says("a"), "7"],
    "in the middle of a call": [call],
    "for calls that cannot be separated": [
      calls(piece(0, "c1", "f", "{}")),
      calls(piece(0, undefined, undefined, '{"a":1}')),
      calls(piece(0, undefined, undefined, '{"b":2}')),
      "[DONE]",
    ],
  };
  for (const [name, data] of Object.entries(streams)) {
    await t.step(name, () => assert.equal(failureOf(...data).kind, "broken"));
  }
});

Deno.test("a Chat stream ends with the failure that the upstream reports", async (t) => {
  const error = { message: "Too fast", type: "rate", code: 429 };
  await t.step("in a separate frame", () => {
    const failure = failureOf(says("a"), { error });
    assert.deepEqual([failure.kind, failure.message, failure.code], [
      "rate_limited",
      "Too fast",
      "429",
    ]);
  });
  await t.step(
    "as a string",
    () => assert.equal(failureOf({ error: "overload" }).message, "overload"),
  );
  await t.step("inside a choice", () => {
    assert.equal(
      failureOf(
        chunk({}, { error: { message: "Provider returned error", code: 502 } }),
      ).kind,
      "server",
    );
  });
  await t.step("in an event named `error`", () => {
    const bytes = new TextEncoder().encode(
      'event: error\ndata: {"message":"Broke"}\n\n',
    );
    const last = decodeBytes(chatCodec, bytes).at(-1);
    assert.equal(last?.type === "failure" ? last.failure.message : "", "Broke");
  });
  await t.step("and no event follows", () => {
    assert.equal(events({ error }, says("a"), "[DONE]").length, 1);
  });
});

Deno.test("a Chat stream fails when it exceeds a limit", async (t) => {
  await t.step("of calls", () => {
    const many = Array.from(
      { length: MAX_BLOCKS + 1 },
      (_, index) => piece(index, `c${index}`, "f", "{}"),
    );
    const all = events(calls(...many), "[DONE]");
    assert.equal(lastFailure(all).kind, "oversized");
    assert.equal(
      all.filter(({ type }) => type === "block-start").length,
      MAX_BLOCKS,
    );
  });
  await t.step("of calls without a name", () => {
    const many = Array.from(
      { length: MAX_BLOCKS + 1 },
      (_, index) => piece(index),
    );
    assert.equal(failureOf(calls(...many)).kind, "oversized");
  });
  await t.step("of held arguments", () => {
    const decoder = chatCodec.createStreamDecoder({ next: (prefix) => prefix });
    const seen: AnswerEvent[] = [];
    const text = "x".repeat(MAX_HELD_CHARACTERS / 2 + 1);
    const data = JSON.stringify(calls(piece(0, undefined, undefined, text)));
    for (let count = 0; count < 2; count++) {
      decoder.push({ data }, (event) => seen.push(event));
    }
    assert.equal(lastFailure(seen).kind, "oversized");
  });
  await t.step("of nesting", () => {
    for (const [depth, kind] of [[60_000, "broken"], [200_000, "oversized"]]) {
      const deep = `${"[".repeat(Number(depth))}${"]".repeat(Number(depth))}`;
      const data =
        `{"choices":[{"index":0,"delta":{"content":{"a":${deep}}}}]}`;
      assert.equal(failureOf(data).kind, kind);
    }
  });
});

const PAGES = { citations: ["https://a.example/1", "https://b.example/2"] };

Deno.test("pages listed beside a Chat answer become citations of the whole text, each once", () => {
  const end = ends("stop");
  const backed = (title?: string) => [{
    kind: "text",
    text: "Hi there",
    citations: ["https://a.example/1", "https://b.example/2"].map((url) => ({
      url,
      ...(title === undefined ? {} : { title }),
      startIndex: 0,
      endIndex: 8,
    })),
  }];
  assert.deepEqual(
    blocksOf(
      { ...says("Hi"), ...PAGES },
      { ...says(" there"), ...PAGES },
      { ...end, ...PAGES },
    ),
    backed(),
  );
  const results = PAGES.citations.map((url) => ({ url, title: "T" }));
  assert.deepEqual(
    blocksOf(says("Hi there"), { ...end, ...PAGES, search_results: results }),
    backed("T"),
  );
});

Deno.test("pages beside a Chat answer are ignored next to annotations, or without text", () => {
  const annotation = {
    type: "url_citation",
    url_citation: { url: "https://c.example", start_index: 0, end_index: 2 },
  };
  const [block] = answerOf(
    chunk({ content: "Hi", annotations: [annotation] }),
    { ...ends("stop"), ...PAGES },
  ).blocks;
  assert.equal(block?.kind === "text" && block.citations?.length, 1);
  const [call] = answerOf(
    calls(piece(0, "c", "f", "{}")),
    { ...ends("tool_calls"), ...PAGES },
  ).blocks;
  assert.equal(call?.kind, "function_call");
});

Deno.test("parts that only Chat has reach other callers as text, or are named as dropped", () => {
  const link = { type: "image_url", image_url: { url: "https://a.example/p" } };
  const bytes = {
    type: "image_url",
    image_url: { url: "data:image/png;base64,aGk=" },
  };
  const answer = answerOf(
    says("Look"),
    chunk({ images: [link, bytes] }),
    chunk({ content: [{ type: "reference", reference_ids: [1] }] }),
    ends("stop"),
  );
  for (const to of ["messages", "responses"] as const) {
    const request = CODECS[to].decodeRequest(userRequest(to, { model: "m" }));
    const dropped: string[] = [];
    const drop = (part: string) => {
      dropped.push(part);
    };
    const body = CODECS[to].encodeAnswer(answer, {
      ...answerContext(request),
      drop,
    });
    assert.match(JSON.stringify(body), /!\[image\]\(https:\/\/a\.example\/p\)/);
    assert.deepEqual(dropped, ["image", "reference"]);
  }
});
