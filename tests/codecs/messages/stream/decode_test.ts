import assert from "node:assert/strict";
import type { SseFrame } from "../../../../src/base/frame.ts";
import { runStage } from "../../../../src/base/stage.ts";
import type { Answer } from "../../../../src/codecs/canonical/answer/answer.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import {
  type Failure,
  oversizedAnswer,
} from "../../../../src/codecs/canonical/failure/failure.ts";
import { foldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import {
  MAX_BLOCKS,
  MAX_HELD_CHARACTERS,
} from "../../../../src/codecs/canonical/max_sizes.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { decodeAnswer } from "../../../../src/codecs/messages/answer/decode.ts";
import { createStreamDecoder } from "../../../../src/codecs/messages/stream/decode.ts";
import { createGrammar } from "../../../contract/grammar.ts";
import { counterIds, plain } from "../../../contract/codec_contract.ts";
import { steps } from "../../../support/steps.ts";

/**
 * Returns the events of a stream whose frames have these values as data; a string is used
 * unchanged.
 */
function decode(...events: readonly unknown[]): AnswerEvent[] {
  const frames = events.map((event): SseFrame => ({
    data: typeof event === "string" ? event : JSON.stringify(event),
  }));
  return run(frames);
}

function run(frames: readonly SseFrame[]): AnswerEvent[] {
  return runStage(
    createGrammar(),
    runStage(createStreamDecoder(counterIds()), frames),
  );
}

function fold(...events: readonly unknown[]): Answer {
  return foldAnswer(decode(...events));
}

/** Returns the answer of a stream with these frames between its start and its end. */
function whole(...events: readonly unknown[]): Answer {
  return fold(START, ...events, STOP);
}

/** Returns the message of the failure that ends a stream. */
function failureOf(...events: readonly unknown[]): string {
  return lastFailure(...events).message;
}

function lastFailure(...events: readonly unknown[]): Failure {
  const last = decode(...events).at(-1);
  assert.ok(last?.type === "failure", `the last event is ${last?.type}`);
  return last.failure;
}

const START = {
  type: "message_start",
  message: {
    id: "msg_1",
    model: "m",
    usage: { input_tokens: 5, output_tokens: 1 },
  },
};
const open = (content_block: unknown, index: unknown = 0) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (value: unknown, index: unknown = 0) => ({
  type: "content_block_delta",
  index,
  delta: value,
});
const json = (partial_json: string, index: unknown = 0) =>
  delta({ type: "input_json_delta", partial_json }, index);
const said = (text: string, index: unknown = 0) =>
  delta({ type: "text_delta", text }, index);
const close = (index: unknown = 0) => ({ type: "content_block_stop", index });
const ending = (stop_reason: unknown = "end_turn", rest: object = {}) => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null },
  usage: { output_tokens: 9 },
  ...rest,
});
const STOP = { type: "message_stop" };
const TEXT = { type: "text", text: "" };
const CALL = { type: "tool_use", id: "toolu_1", name: "f", input: {} };

Deno.test("createStreamDecoder() emits text as it arrives", () => {
  const events = decode(
    START,
    open(TEXT),
    said("A"),
    said("b"),
    close(),
    ending(),
    STOP,
  );
  assert.deepEqual(plain(events), [
    {
      type: "start",
      id: "msg_1",
      model: "m",
      usage: { inputTokens: 5, outputTokens: 1 },
    },
    { type: "block-start", index: 0, block: { kind: "text" } },
    { type: "block-delta", index: 0, text: "A" },
    { type: "block-delta", index: 0, text: "b" },
    { type: "block-end", index: 0 },
    {
      type: "end",
      stop: { reason: "end", raw: { protocol: "messages", value: "end_turn" } },
      usage: { inputTokens: 5, outputTokens: 9 },
    },
  ]);
});

Deno.test("createStreamDecoder() reads arguments from deltas, else from the block's start, else as an empty object", () => {
  const args = (...deltas: unknown[]) => {
    const { blocks } = whole(...deltas, ending("tool_use"));
    const [block] = blocks;
    return block?.kind === "function_call" && block.arguments;
  };
  assert.equal(
    args(open(CALL), json(""), json('{"a"'), json(":1}"), close()),
    '{"a":1}',
  );
  assert.equal(args(open({ ...CALL, input: { a: 1 } }), close()), '{"a":1}');
  assert.equal(
    args(open({ ...CALL, input: { a: 1 } }), json('{"b":2}'), close()),
    '{"b":2}',
  );
  assert.equal(args(open(CALL), json(""), close()), "{}");
  assert.equal(args(open({ ...CALL, input: null }), close()), "{}");
});

Deno.test("createStreamDecoder() gives an id to a call without one, and keeps the call's other fields", () => {
  const { blocks } = whole(
    open({ ...CALL, id: "", caller: { type: "direct" } }),
    ending("tool_use"),
  );
  assert.deepEqual(plain(blocks), [{
    kind: "function_call",
    id: "toolu_0001",
    name: "f",
    arguments: "{}",
    providerMetadata: { messages: { caller: { type: "direct" } } },
  }]);
});

Deno.test("createStreamDecoder() separates interleaved calls by their index", () => {
  const { blocks } = whole(
    open({ ...CALL, id: "a" }, 3),
    open({ ...CALL, id: "b" }, 7),
    json('{"b":', 7),
    json('{"a":', 3),
    json("2}", 7),
    json("1}", 3),
    close(3),
    close(7),
    ending("tool_use"),
  );
  assert.deepEqual(
    blocks.map((block) => block.kind === "function_call" && block.arguments),
    ['{"a":1}', '{"b":2}'],
  );
});

Deno.test("createStreamDecoder() emits the last signature of a thinking block, at its end", () => {
  const sign = (signature: string) =>
    delta({ type: "signature_delta", signature });
  const { blocks } = whole(
    open({ type: "thinking", thinking: "A", signature: "early" }),
    delta({ type: "thinking_delta", thinking: "b", estimated_tokens: 3 }),
    sign("one"),
    sign("two"),
    close(),
    open({ type: "thinking" }, 1),
    close(1),
    ending(),
  );
  assert.deepEqual(plain(blocks), [
    {
      kind: "reasoning",
      parts: [{ form: "raw", text: "Ab" }],
      sealed: { protocol: "messages", form: "signature", value: "two" },
    },
    { kind: "reasoning", parts: [] },
  ]);
});

Deno.test("createStreamDecoder() emits blocks of server tools complete, and not as calls of the caller's tools", () => {
  const { blocks, stop } = whole(
    open({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
    json('{"query":'),
    json('"q"}'),
    close(),
    open({ type: "compaction", content: null }, 1),
    delta({ type: "compaction_delta", content: "so " }, 1),
    delta({ type: "compaction_delta", content: "far" }, 1),
    close(1),
    open({ type: "mcp_tool_use", id: "n", input: {} }, 2),
    json("{", 2),
    close(2),
    ending("tool_use"),
  );
  assert.deepEqual(
    blocks.map((block) => block.kind === "opaque" && block.value),
    [
      {
        type: "server_tool_use",
        id: "s",
        name: "web_search",
        input: { query: "q" },
      },
      { type: "compaction", content: "so far" },
      { type: "mcp_tool_use", id: "n", input: "{" },
    ],
  );
  assert.equal(stop.reason, "end");
});

Deno.test("createStreamDecoder() reads every stop reason", () => {
  const reasons: [string | null, string][] = [
    ["end_turn", "end"],
    ["max_tokens", "max_tokens"],
    ["model_context_window_exceeded", "context_full"],
    ["pause_turn", "paused"],
    ["refusal", "filtered"],
    ["constructor", "other"],
    ["length", "max_tokens"],
    [null, "end"],
  ];
  for (const [word, reason] of reasons) {
    assert.equal(
      whole(open(TEXT), close(), ending(word)).stop.reason,
      reason,
      `${word}`,
    );
  }
  const sequence = {
    delta: { stop_reason: "stop_sequence", stop_sequence: "END" },
  };
  const { stop } = whole(ending("", sequence));
  assert.equal(stop.reason, "stop_sequence");
  assert.equal(stop.sequence, "END");
});

Deno.test("createStreamDecoder() fails for a stop reason that means a failure, or a full context before any output", () => {
  for (const word of ["network_error", "error", "abort"]) {
    const last = decode(START, open(TEXT), close(), ending(word), STOP).at(-1);
    assert.equal(last?.type === "failure" && last.failure.kind, "server", word);
  }
  const last = decode(START, ending("model_context_window_exceeded"), STOP)
    .at(-1);
  assert.equal(
    last?.type === "failure" && last.failure.kind,
    "context_too_long",
  );
});

Deno.test("createStreamDecoder() changes the stop reason to fit the calls", () => {
  const call = [open(CALL), close()];
  assert.equal(whole(...call, ending()).stop.reason, "tool_calls");
  assert.equal(whole(...call).stop.reason, "tool_calls");
  assert.equal(whole(...call, ending("max_tokens")).stop.reason, "max_tokens");
  assert.equal(whole(ending("tool_use")).stop.reason, "end");
});

Deno.test("createStreamDecoder() reads the explanation of a refusal", () => {
  const details = {
    delta: {
      stop_reason: "refusal",
      stop_details: { type: "refusal", explanation: "Not that" },
    },
  };
  assert.equal(whole(ending("", details)).stop.explanation, "Not that");
});

Deno.test("createStreamDecoder() keeps a stop reason when a later message_delta has none", () => {
  const { stop, usage } = whole(
    ending("max_tokens"),
    ending(null, { usage: { output_tokens: 11 } }),
  );
  assert.equal(stop.reason, "max_tokens");
  assert.equal(usage?.outputTokens, 11);
});

Deno.test("createStreamDecoder() merges the counts of all events", () => {
  const counts = (first: unknown, last: unknown) =>
    plain(
      fold(
        { type: "message_start", message: { usage: first } },
        ending("end_turn", { usage: last }),
        STOP,
      ).usage ?? null,
    );
  assert.deepEqual(
    counts({ input_tokens: 0, output_tokens: 0 }, {
      input_tokens: 4,
      cache_read_input_tokens: 10,
      cache_creation_input_tokens: 3,
      output_tokens: 2,
      output_tokens_details: { thinking_tokens: 1 },
    }),
    {
      inputTokens: 17,
      cachedInputTokens: 10,
      cacheWriteTokens: 3,
      outputTokens: 2,
      reasoningTokens: 1,
    },
  );
  assert.deepEqual(
    counts({ input_tokens: 4, cache_read_input_tokens: 10 }, {
      input_tokens: 0,
      cache_read_input_tokens: null,
      output_tokens: 2,
    }),
    { inputTokens: 14, cachedInputTokens: 10, outputTokens: 2 },
  );
  assert.equal(counts(undefined, undefined), null);
  assert.equal(counts({ input_tokens: "4" }, { output_tokens: -1 }), null);
});

Deno.test("createStreamDecoder() ignores zero counts at the start", () => {
  const [start] = decode({
    type: "message_start",
    message: { usage: { input_tokens: 0, output_tokens: 0 } },
  });
  assert.ok(start?.type === "start");
  assert.equal(start.usage, undefined);
});

Deno.test("createStreamDecoder() accepts missing and repeated events", () => {
  const { blocks } = fold(
    START,
    START,
    { type: "content_block_start", content_block: TEXT },
    { type: "content_block_delta", delta: { type: "text_delta", text: "a" } },
    { type: "content_block_start", content_block: TEXT },
    { type: "content_block_delta", delta: { type: "text_delta", text: "b" } },
    open(TEXT, 1),
    said("c", 1),
    close(9),
    "",
    "[DONE]",
    { type: "ping" },
    { type: "vendor_event", data: 1 },
    ending(),
    STOP,
    said("late"),
    "{",
  );
  assert.deepEqual(
    blocks.map((block) => block.kind === "text" && block.text),
    ["a", "b", "c"],
  );
});

Deno.test("createStreamDecoder() begins an answer without message_start at its first block", () => {
  const answer = fold(open(TEXT), said("a"), ending(), STOP);
  assert.equal(answer.id, "");
  assert.equal(answer.blocks.length, 1);
});

Deno.test("createStreamDecoder() reads the type of an event from its line if the data has none", () => {
  const events = run([
    { event: "message_start", data: '{"message":{"id":"msg_1"}}' },
    {
      event: "error",
      data: '{"error":{"type":"overloaded_error","message":"Busy"}}',
    },
  ]);
  assert.deepEqual(plain(events), [
    { type: "start", id: "msg_1", model: "" },
    {
      type: "failure",
      failure: {
        kind: "overloaded",
        status: 529,
        message: "Busy",
        type: { protocol: "messages", value: "overloaded_error" },
      },
    },
  ]);
});

Deno.test("createStreamDecoder() reads an error of any shape as a failure", () => {
  const error = { type: "rate_limit_error", message: "Slow" };
  assert.equal(failureOf(START, { type: "error", error }), "Slow");
  assert.equal(failureOf(START, { error }), "Slow");
  assert.equal(
    failureOf({ type: "error" }),
    "The provider answered with status 200",
  );
});

Deno.test("createStreamDecoder() fails when the stream ends before message_stop", () => {
  const message =
    "The provider's stream ended before the answer did. Try again later.";
  assert.equal(failureOf(), message);
  assert.equal(failureOf(START), message);
  assert.equal(
    failureOf(START, open(TEXT), said("a"), close(), ending()),
    message,
  );
});

Deno.test("createStreamDecoder() fails for a malformed event", async (t) => {
  const broken: [string, unknown[]][] = [
    ["no JSON", ["{"]],
    ["no object", ["[]"]],
    ["a block without a type", [open({})]],
    ["a block that is no object", [open("text")]],
    ["a call without a name", [open({ ...CALL, name: "" })]],
    ["a delta without a block", [said("a")]],
    ["a delta after the block's end", [open(TEXT), close(), said("a")]],
    ["an end of nothing", []],
  ];
  await steps(t, broken, ([name, events]) => {
    const start = name === "an end of nothing" ? [] : [START];
    const last = decode(...start, ...events, STOP).at(-1);
    assert.ok(last?.type === "failure");
    assert.equal(last.failure.kind, "broken");
  });
});

Deno.test("createStreamDecoder() ignores deltas that do not fit their block", () => {
  const { blocks } = whole(
    open(TEXT),
    json("{}"),
    delta({ type: "text_delta", text: 1 }),
    { type: "content_block_delta", index: 0 },
    said("a"),
    close(),
    open(CALL, 1),
    said("b", 1),
    close(1),
    ending(),
  );
  assert.deepEqual(plain(blocks), [
    { kind: "text", text: "a" },
    { kind: "function_call", id: "toolu_1", name: "f", arguments: "{}" },
  ]);
});

Deno.test("createStreamDecoder() fails for too many blocks", () => {
  const blocks = Array.from({ length: MAX_BLOCKS + 1 }, () => open(TEXT));
  assert.deepEqual(
    lastFailure(START, ...blocks, STOP),
    oversizedAnswer("The provider's answer has too many parts"),
  );
});

Deno.test("createStreamDecoder() fails when it would hold too much", () => {
  const piece = "x".repeat(MAX_HELD_CHARACTERS / 2);
  const block = { type: "mcp_tool_result", content: "" };
  const growing = Array.from(
    { length: 3 },
    () => delta({ type: "content_delta", content: piece }),
  );
  const many = Array.from(
    { length: 3 },
    (_, index) => open({ ...CALL, input: { piece } }, index),
  );
  for (const events of [[open(block), ...growing], many]) {
    assert.deepEqual(
      lastFailure(START, ...events, STOP),
      oversizedAnswer(
        "The provider's answer is longer than the gateway can hold",
      ),
    );
  }
});

Deno.test("createStreamDecoder() keeps a limited number of unknown counts", () => {
  const events = Array.from({ length: 300 }, (_, index) => ({
    type: "message_delta",
    usage: { [`count_${index}`]: 1, output_tokens: index },
  }));
  const { usage } = whole(...events);
  assert.equal(usage?.outputTokens, 299);
  assert.ok(Object.keys(usage.providerMetadata?.messages ?? {}).length <= 64);
});

Deno.test("createStreamDecoder() and decodeAnswer() report the provider's last reasons for dropping earlier thinking", () => {
  const entry = (reason: string, type = "thinking_dropped") => ({
    type,
    path: "messages.1.content.0",
    reason,
  });
  const start = (input_transformations: unknown) => ({
    type: "message_start",
    message: { id: "msg_1", input_transformations },
  });
  const delta = (more: JsonObject = {}) => ({
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    ...more,
  });
  const stop = { type: "message_stop" };
  const dropped = [entry("prefix_binding_mismatch"), entry("odd words!")];
  assert.deepEqual(fold(start(dropped), delta(), stop).reasoningDropped, [
    "prefix_binding_mismatch",
    "other",
  ]);
  const later = { input_transformations: [entry("model_binding_mismatch")] };
  const answer = fold(start(dropped), delta(later), stop);
  assert.deepEqual(answer.reasoningDropped, ["model_binding_mismatch"]);
  assert.equal(answer.providerMetadata, undefined);
  const others = [
    undefined,
    null,
    [],
    [entry("prefix_binding_mismatch", "thinking_mismatch_allowed"), 7],
  ];
  for (const none of others) {
    assert.equal("reasoningDropped" in fold(start(none), delta(), stop), false);
  }
  const whole = {
    id: "msg_1",
    content: [],
    stop_reason: "end_turn",
    input_transformations: dropped,
  };
  const { reasoningDropped, providerMetadata } = decodeAnswer(
    whole,
    counterIds(),
  );
  assert.deepEqual(reasoningDropped, ["prefix_binding_mismatch", "other"]);
  assert.equal(providerMetadata, undefined);
});
