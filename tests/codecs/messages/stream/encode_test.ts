import assert from "node:assert/strict";
import type { SseComment, SseFrame } from "../../../../src/base/frame.ts";
import { parseJson } from "../../../../src/base/json.ts";
import { runStage } from "../../../../src/base/stage.ts";
import type {
  AnswerBlock,
  FunctionCallBlock,
} from "../../../../src/codecs/canonical/content/block.ts";
import type { AnswerContext } from "../../../../src/codecs/canonical/codec.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { unfoldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import { unwrapSealed } from "../../../../src/codecs/canonical/content/sealed.ts";
import { encodeAnswer } from "../../../../src/codecs/messages/answer/encode.ts";
import { createStreamEncoder } from "../../../../src/codecs/messages/stream/encode.ts";
import { answerContext } from "../../../contract/codec_contract.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";
import { requestOf } from "../../../support/wire/requests.ts";

function context(dropped: string[] = []): AnswerContext {
  return {
    ...answerContext(requestOf()),
    drop: (part) => {
      dropped.push(part);
    },
  };
}

function encode(
  events: readonly AnswerEvent[],
  dropped: string[] = [],
): SseFrame[] {
  return runStage(createStreamEncoder(context(dropped)), events);
}

function data(frames: readonly SseFrame[]): unknown[] {
  return frames.map((frame) => parseJson(frame.data));
}

/** Returns the events between the start and the end of a stream with these blocks. */
function blocksOf(
  blocks: readonly AnswerBlock[],
  dropped: string[] = [],
): unknown[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(
    { id: "a", model: "m", blocks, stop: { reason: "end" } },
    (event) => {
      events.push(event);
    },
  );
  return data(encode(events, dropped)).slice(1, -2);
}

const open = (index: number, content_block: unknown) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, value: unknown) => ({
  type: "content_block_delta",
  index,
  delta: value,
});
const close = (index: number) => ({ type: "content_block_stop", index });
const TEXT = { type: "text", text: "" };
const THINKING = { type: "thinking", thinking: "", signature: "" };

Deno.test("createStreamEncoder() names each event by its type, in the order of Messages", () => {
  const frames = encode([START, startOf(0), deltaOf(0, "Hi"), endOf(0), END]);
  assert.deepEqual(frames.map(({ event }) => event), [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
  assert.deepEqual(data(frames), [
    {
      type: "message_start",
      message: {
        id: "msg_id-1",
        type: "message",
        role: "assistant",
        model: "sample-model",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: {
          input_tokens: 7,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 0,
        },
      },
    },
    open(0, TEXT),
    delta(0, { type: "text_delta", text: "Hi" }),
    close(0),
    {
      type: "message_delta",
      delta: {
        stop_reason: "end_turn",
        stop_sequence: null,
        stop_details: null,
      },
      usage: {
        input_tokens: 7,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 1,
      },
    },
    { type: "message_stop" },
  ]);
});

Deno.test("createStreamEncoder() writes the final counts last, and counts cached tokens separately from the input", () => {
  const usage = {
    inputTokens: 100,
    cachedInputTokens: 60,
    cacheWriteTokens: 30,
    outputTokens: 20,
    reasoningTokens: 5,
  };
  const frames = data(encode([
    { type: "start", id: "a", model: "m", usage },
    { type: "end", stop: { reason: "end" }, usage },
  ]));
  const [start, end] = frames;
  const counted = {
    input_tokens: 10,
    cache_creation_input_tokens: 30,
    cache_read_input_tokens: 60,
    output_tokens: 20,
    output_tokens_details: { thinking_tokens: 5 },
  };
  assert.deepEqual(JSON.parse(JSON.stringify(start)).message.usage, counted);
  assert.deepEqual(JSON.parse(JSON.stringify(end)).usage, counted);
});

Deno.test("createStreamEncoder() writes overlapping calls one after another", () => {
  const frames = encode([
    START,
    callOf(0, "a"),
    callOf(1, "b"),
    deltaOf(1, '{"b":'),
    deltaOf(0, '{"a":1}'),
    deltaOf(1, "2}"),
    endOf(0),
    endOf(1),
    END,
  ]);
  const head = (name: string) => ({
    type: "tool_use",
    id: `id-${name}`,
    name,
    input: {},
    caller: { type: "direct" },
  });
  const input = (partial_json: string) => ({
    type: "input_json_delta",
    partial_json,
  });
  assert.deepEqual(data(frames).slice(1, -2), [
    open(0, head("a")),
    delta(0, input('{"a":1}')),
    close(0),
    open(1, head("b")),
    delta(1, input('{"b":2}')),
    close(1),
  ]);
});

Deno.test("createStreamEncoder() omits empty blocks without a gap in the indexes", () => {
  const written = blocksOf([
    { kind: "text", text: "" },
    { kind: "reasoning", parts: [] },
    { kind: "text", text: "a" },
  ]);
  assert.deepEqual(written, [
    open(0, TEXT),
    delta(0, { type: "text_delta", text: "a" }),
    close(0),
  ]);
});

Deno.test("createStreamEncoder() writes the parts of thinking as paragraphs, and one signature at the end", () => {
  const written = blocksOf([{
    kind: "reasoning",
    parts: [
      { form: "summary", text: "One" },
      { form: "summary", text: "" },
      { form: "summary", text: "Two" },
    ],
    sealed: { protocol: "messages", form: "signature", value: "c2ln" },
  }]);
  assert.deepEqual(written, [
    open(0, THINKING),
    delta(0, { type: "thinking_delta", thinking: "One" }),
    delta(0, { type: "thinking_delta", thinking: "\n\nTwo" }),
    delta(0, { type: "signature_delta", signature: "c2ln" }),
    close(0),
  ]);
});

Deno.test("createStreamEncoder() writes a sealed part of another protocol as a signature, even without a text", () => {
  const sealed = {
    protocol: "responses",
    form: "encrypted_content",
    value: "enc",
    id: "rs_1",
  } as const;
  const [start, signed, end] = blocksOf([
    { kind: "reasoning", parts: [], sealed },
  ]);
  assert.deepEqual(start, open(0, THINKING));
  const { signature } = JSON.parse(JSON.stringify(signed)).delta;
  assert.deepEqual(unwrapSealed(signature), {
    ...sealed,
    origin: "connection-1",
  });
  assert.deepEqual(end, close(0));
});

Deno.test("createStreamEncoder() signs thinking that has no sealed part with an empty envelope", () => {
  const written = blocksOf([{
    kind: "reasoning",
    parts: [{ form: "raw", text: "Hm" }],
  }]);
  assert.deepEqual(
    written[2],
    delta(0, { type: "signature_delta", signature: "mg1." }),
  );
});

Deno.test("createStreamEncoder() writes redacted thinking as a block of its own type", () => {
  const written = blocksOf([{
    kind: "reasoning",
    parts: [],
    sealed: { protocol: "messages", form: "redacted", value: "cmVk" },
  }]);
  assert.deepEqual(written, [
    open(0, { type: "redacted_thinking", data: "cmVk" }),
    close(0),
  ]);
});

Deno.test("createStreamEncoder() writes a refusal as text, and the stop reason `refusal`", () => {
  const frames = data(encode([
    START,
    startOf(0, "refusal"),
    deltaOf(0, "I will "),
    deltaOf(0, "not."),
    endOf(0),
    END,
  ]));
  assert.deepEqual(
    frames[2],
    delta(0, { type: "text_delta", text: "I will " }),
  );
  assert.deepEqual(JSON.parse(JSON.stringify(frames.at(-2))).delta, {
    stop_reason: "refusal",
    stop_sequence: null,
    stop_details: {
      type: "refusal",
      category: null,
      explanation: "I will not.",
    },
  });
});

Deno.test("createStreamEncoder() writes a stop_reason for every stop", () => {
  const word = (stop: Extract<AnswerEvent, { type: "end" }>["stop"]) =>
    JSON.parse(encode([START, { type: "end", stop }])[1]?.data ?? "").delta;
  assert.equal(word({ reason: "tool_calls" }).stop_reason, "tool_use");
  assert.equal(word({ reason: "max_tokens" }).stop_reason, "max_tokens");
  assert.equal(
    word({ reason: "context_full" }).stop_reason,
    "model_context_window_exceeded",
  );
  assert.equal(word({ reason: "paused" }).stop_reason, "pause_turn");
  assert.equal(word({ reason: "other" }).stop_reason, "max_tokens");
  assert.equal(
    word({
      reason: "other",
      raw: { protocol: "messages", value: "compaction" },
    })
      .stop_reason,
    "compaction",
  );
  assert.equal(
    word({ reason: "other", raw: { protocol: "chat", value: "odd" } })
      .stop_reason,
    "max_tokens",
  );
  const sequence = word({ reason: "stop_sequence", sequence: "END" });
  assert.equal(sequence.stop_reason, "stop_sequence");
  assert.equal(sequence.stop_sequence, "END");
  assert.deepEqual(
    word({ reason: "filtered", explanation: "E" }).stop_details,
    { type: "refusal", category: null, explanation: "E" },
  );
});

Deno.test("createStreamEncoder() writes a custom tool's input as an object with one argument", () => {
  const events: AnswerEvent[] = [
    START,
    {
      type: "block-start",
      index: 0,
      block: { kind: "custom_call", id: "c", name: "patch" },
    },
    deltaOf(0, 'say "hi"\n'),
    deltaOf(0, "\ud83d"),
    deltaOf(0, "\ude00"),
    endOf(0),
    END,
  ];
  const pieces = data(encode(events)).slice(2, -3).map((frame) =>
    JSON.parse(JSON.stringify(frame)).delta.partial_json
  );
  assert.deepEqual(JSON.parse(pieces.join("")), { input: 'say "hi"\n😀' });
});

Deno.test("createStreamEncoder() writes other protocols' blocks as text, or reports them by name", () => {
  const dropped: string[] = [];
  const foreign = {
    kind: "opaque",
    protocol: "responses",
    type: "image_generation_call",
    value: {},
    weight: "report",
  } as const;
  const written = blocksOf([
    { ...foreign, text: "[picture]" },
    foreign,
    { kind: "text", text: "a", citations: [{ title: "no page" }] },
  ], dropped);
  assert.deepEqual(written, [
    open(0, TEXT),
    delta(0, { type: "text_delta", text: "[picture]" }),
    close(0),
    open(1, TEXT),
    delta(1, { type: "text_delta", text: "a" }),
    close(1),
  ]);
  assert.deepEqual(dropped, ["image_generation_call", "citation"]);
});

Deno.test("createStreamEncoder() writes cited pages as citations", () => {
  const written = blocksOf([{
    kind: "text",
    text: "a",
    citations: [{ url: "https://w.example", quote: "q" }],
  }]);
  assert.deepEqual(
    written[2],
    delta(0, {
      type: "citations_delta",
      citation: {
        type: "web_search_result_location",
        url: "https://w.example",
        title: null,
        cited_text: "q",
        encrypted_index: "",
      },
    }),
  );
});

Deno.test("createStreamEncoder() writes a failure as the last event", () => {
  const failure = {
    type: "failure",
    failure: { kind: "timeout", message: "Too late" },
  } as const;
  const expected = {
    type: "error",
    error: { type: "timeout_error", message: "Too late" },
    request_id: "req_1",
  };
  assert.deepEqual(encode([failure]), [
    { event: "error", data: JSON.stringify(expected) },
  ]);
  const frames = encode([START, startOf(0), deltaOf(0, "a"), failure]);
  assert.deepEqual(data(frames).at(-1), expected);
});

Deno.test("createStreamEncoder() writes a ping as a keep-alive", () => {
  const frames: (SseFrame | SseComment)[] = [];
  createStreamEncoder(context()).keepAlive((frame) => {
    frames.push(frame);
  });
  assert.deepEqual(frames, [{ event: "ping", data: '{"type":"ping"}' }]);
});

Deno.test("encodeAnswer() makes a missing id, and puts the prefix before another protocol's id", () => {
  const id = (given: string) =>
    encodeAnswer(
      { id: given, model: "m", blocks: [], stop: { reason: "end" } },
      context(),
    ).id;
  assert.equal(id(""), "msg_0001");
  assert.equal(id("msg_x"), "msg_x");
  assert.equal(id("chatcmpl-x"), "msg_chatcmpl-x");
});

Deno.test("createStreamEncoder() and encodeAnswer() estimate the same usage for an answer without counts", () => {
  const blocks: AnswerBlock[] = [
    { kind: "reasoning", parts: [{ form: "raw", text: "12345678" }] },
    { kind: "text", text: "1234" },
    { kind: "function_call", id: "c", name: "f", arguments: "{}" },
  ];
  const answer = {
    id: "a",
    model: "m",
    blocks,
    stop: { reason: "end" },
  } as const;
  const expected = {
    input_tokens: 7,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 4,
  };
  assert.deepEqual(encodeAnswer(answer, context()).usage, expected);
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  const frame = encode(events).at(-2);
  assert.deepEqual(JSON.parse(frame?.data ?? "").usage, expected);
});

Deno.test("createStreamEncoder() and encodeAnswer() replace an id of the history by the same new id", () => {
  const used = callBlock("call_0");
  const request = requestOf({ turns: [{ role: "assistant", blocks: [used] }] });
  const blocks = [used, { ...used, id: "f.x:1" }, used];
  const answer = {
    id: "a",
    model: "m",
    blocks,
    stop: { reason: "end" },
  } as const;
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  const written = { ...context(), request };
  const frames = runStage(createStreamEncoder(written), events);
  const ids = (text: string) =>
    [...text.matchAll(/"type":"tool_use","id":"([^"]*)"/g)].map(([, id]) => id);
  const streamed = ids(frames.map((frame) => frame.data).join(""));
  assert.deepEqual(
    ids(JSON.stringify(encodeAnswer(answer, written))),
    streamed,
  );
  assert.equal(new Set(["call_0", ...streamed]).size, 4);
  for (const id of streamed) assert.match(id ?? "", /^[A-Za-z0-9_-]+$/);
});

function callBlock(id: string): FunctionCallBlock {
  return { kind: "function_call", id, name: "f", arguments: "{}" };
}
