import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import type {
  Answer,
  StopReason,
} from "../../../src/codecs/canonical/answer/answer.ts";
import type { AnswerBlock } from "../../../src/codecs/canonical/content/block.ts";
import {
  type FailureKind,
  UpstreamFailure,
} from "../../../src/codecs/canonical/failure/failure.ts";
import { unwrapSealed } from "../../../src/codecs/canonical/content/sealed.ts";
import { chatCodec } from "../../../src/codecs/chat/mod.ts";
import {
  answerContext,
  counterIds,
  encodeStream,
  plain,
} from "../../contract/codec_contract.ts";
import { requestOf } from "../../support/wire/requests.ts";

const WITH_USAGE = requestOf({
  extras: {
    chat: {
      stream_options: { value: { include_usage: true }, weight: "ignore" },
    },
  },
});

function answerOf(
  blocks: readonly AnswerBlock[],
  rest: Partial<Answer> = {},
): Answer {
  return {
    id: "msg_1",
    model: "claude",
    blocks,
    stop: { reason: "end" },
    ...rest,
  };
}

interface Encoded {
  readonly body: JsonObject;
  readonly message: JsonObject;
  readonly dropped: readonly string[];
}

function encode(answer: Answer): Encoded {
  const dropped: string[] = [];
  const body = chatCodec.encodeAnswer(answer, {
    ...answerContext(requestOf()),
    drop: (part) => {
      dropped.push(part);
    },
  });
  const [choice] = JSON.parse(JSON.stringify(body.choices));
  return { body, message: choice.message, dropped };
}

/** Returns the data of a stream's events, parsed except for `[DONE]`. */
function chunksOf(answer: Answer, request = requestOf()): JsonObject[] {
  return encodeStream(chatCodec, answer, request).map(({ data }) => data)
    .filter((data) => data !== "[DONE]").map((data) => JSON.parse(data));
}

function deltasOf(answer: Answer): unknown[] {
  return chunksOf(answer).map(({ choices }) =>
    JSON.parse(JSON.stringify(choices))[0].delta
  );
}

function failureOf(body: JsonValue): UpstreamFailure["failure"] {
  try {
    chatCodec.decodeAnswer(body, counterIds());
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.failure;
    throw error;
  }
  return assert.fail("the answer was taken");
}

Deno.test("a Chat answer has every field of a Chat completion", () => {
  const { body } = encode(
    answerOf([{ kind: "text", text: "Hi" }], {
      usage: { inputTokens: 1, outputTokens: 2 },
    }),
  );
  assert.deepEqual(body, {
    id: "chatcmpl-msg_1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "sample-model",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "Hi", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  });
});

Deno.test("a Chat answer keeps an id with Chat's prefix, and gets a new id when the upstream sent none", () => {
  assert.equal(
    encode(answerOf([], { id: "chatcmpl-7" })).body.id,
    "chatcmpl-7",
  );
  assert.equal(encode(answerOf([], { id: "" })).body.id, "chatcmpl_0001");
});

Deno.test("a Chat answer has null content beside calls, and an empty string without calls", () => {
  const call: AnswerBlock = {
    kind: "function_call",
    id: "c1",
    name: "f",
    arguments: "",
  };
  const { message } = encode(answerOf([call]));
  assert.equal(message.content, null);
  assert.deepEqual(message.tool_calls, [{
    id: "c1",
    type: "function",
    function: { name: "f", arguments: "{}" },
  }]);
  assert.equal(encode(answerOf([])).message.content, "");
});

Deno.test("a Chat answer has a `finish_reason` for every stop reason", () => {
  const words: Record<StopReason, string> = {
    end: "stop",
    stop_sequence: "stop",
    tool_calls: "tool_calls",
    max_tokens: "length",
    context_full: "length",
    filtered: "content_filter",
    paused: "stop",
    other: "length",
  };
  for (
    const [reason, word] of Object.entries(words) as [StopReason, string][]
  ) {
    const { body } = encode(answerOf([], { stop: { reason } }));
    assert.match(
      JSON.stringify(body),
      new RegExp(`"finish_reason":"${word}"`),
      reason,
    );
  }
});

Deno.test("a Chat answer has the explanation of a filter as its refusal, in JSON and as a stream", () => {
  const filtered = answerOf([], {
    stop: { reason: "filtered", explanation: "not safe" },
  });
  assert.deepEqual(encode(filtered).message, {
    role: "assistant",
    content: null,
    refusal: "not safe",
  });
  assert.deepEqual(deltasOf(filtered).slice(1), [{ refusal: "not safe" }, {}]);
  const worded = answerOf([{ kind: "refusal", text: "No" }], {
    stop: { reason: "filtered", explanation: "not safe" },
  });
  assert.equal(encode(worded).message.refusal, "No");
  assert.deepEqual(deltasOf(worded).slice(1), [{ refusal: "No" }, {}]);
});

Deno.test("a Chat answer joins consecutive texts, and separates others as paragraphs, in JSON and as a stream", () => {
  const answer = answerOf([
    { kind: "text", text: "One " },
    { kind: "text", text: "line." },
    {
      kind: "opaque",
      protocol: "messages",
      type: "server_tool_use",
      value: {},
      weight: "report",
    },
    { kind: "text", text: "" },
    { kind: "text", text: "Another." },
  ]);
  const { message, dropped } = encode(answer);
  assert.equal(message.content, "One line.\n\nAnother.");
  assert.deepEqual(dropped, ["server_tool_use"]);
  assert.deepEqual(deltasOf(answer).slice(1), [
    { content: "One " },
    { content: "line." },
    { content: "\n\nAnother." },
    {},
  ]);
});

Deno.test("a Chat answer has reasoning as paragraphs, and its sealed part in an envelope", () => {
  const answer = answerOf([
    {
      kind: "reasoning",
      parts: [{ form: "summary", text: "a" }, { form: "summary", text: "" }, {
        form: "summary",
        text: "b",
      }],
      sealed: { protocol: "messages", form: "signature", value: "sig" },
    },
    { kind: "reasoning", parts: [{ form: "raw", text: "c" }] },
  ]);
  const { message } = encode(answer);
  assert.equal(message.reasoning_content, "a\n\nb\n\nc");
  const [detail] = JSON.parse(JSON.stringify(message.reasoning_details));
  assert.equal(detail.type, "reasoning.encrypted");
  assert.deepEqual(plain(unwrapSealed(detail.data)), {
    protocol: "messages",
    form: "signature",
    value: "sig",
    origin: "connection-1",
  });
  assert.deepEqual(deltasOf(answer).slice(1), [
    { reasoning_content: "a" },
    { reasoning_content: "\n\nb" },
    { reasoning_details: message.reasoning_details },
    { reasoning_content: "\n\nc" },
    {},
  ]);
});

Deno.test("an envelope that a client returns contains the original sealed part", () => {
  const sealed = {
    protocol: "messages",
    form: "signature",
    value: "sig",
  } as const;
  const { message } = encode(
    answerOf([{
      kind: "reasoning",
      parts: [{ form: "raw", text: "a" }],
      sealed,
    }]),
  );
  const request = chatCodec.decodeRequest({ model: "m", messages: [message] });
  const [block] = request.turns[0]?.blocks ?? [];
  assert.deepEqual(plain(block), {
    kind: "reasoning",
    parts: [{ form: "raw", text: "a" }],
    sealed: { ...sealed, origin: "connection-1" },
  });
});

Deno.test("a Chat answer has cited pages as annotations, and drops other citations", () => {
  const raw = {
    protocol: "messages",
    value: { type: "page_location" },
  } as const;
  const answer = answerOf([{
    kind: "text",
    text: "Hi",
    citations: [{
      url: "https://example.com",
      title: "T",
      startIndex: 0,
      endIndex: 2,
    }, { raw }],
  }]);
  const { message, dropped } = encode(answer);
  const page = {
    type: "url_citation",
    url_citation: {
      url: "https://example.com",
      title: "T",
      start_index: 0,
      end_index: 2,
    },
  };
  assert.deepEqual(message.annotations, [page]);
  assert.deepEqual(dropped, ["citation"]);
  assert.deepEqual(deltasOf(answer).slice(1), [{ content: "Hi" }, {
    annotations: [page],
  }, {}]);
});

Deno.test("a Chat answer has a service tier only if the provider speaks Chat", () => {
  assert.equal(
    encode(answerOf([], { serviceTier: { protocol: "chat", value: "flex" } }))
      .body.service_tier,
    "flex",
  );
  assert.equal(
    encode(
      answerOf([], {
        serviceTier: { protocol: "messages", value: "standard" },
      }),
    ).body.service_tier,
    undefined,
  );
});

Deno.test("a Chat stream has the role once, calls one after another, one finish_reason and [DONE]", () => {
  const frames = encodeStream(
    chatCodec,
    answerOf([
      { kind: "text", text: "Hi" },
      { kind: "function_call", id: "c1", name: "f", arguments: '{"a":1}' },
      { kind: "custom_call", id: "c2", name: "p", input: "raw" },
      { kind: "function_call", id: "c3", name: "g", arguments: "" },
    ], { stop: { reason: "tool_calls" } }),
    requestOf(),
  );
  assert.equal(frames.at(-1)?.data, "[DONE]");
  const chunks = frames.slice(0, -1).map(({ data }) => JSON.parse(data));
  assert.deepEqual(chunks.map((chunk) => chunk.choices[0].delta), [
    { role: "assistant", content: "", refusal: null },
    { content: "Hi" },
    {
      tool_calls: [{
        index: 0,
        id: "c1",
        type: "function",
        function: { name: "f", arguments: "" },
      }],
    },
    { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
    {
      tool_calls: [{
        index: 1,
        id: "c2",
        type: "custom",
        custom: { name: "p", input: "" },
      }],
    },
    { tool_calls: [{ index: 1, custom: { input: "raw" } }] },
    {
      tool_calls: [{
        index: 2,
        id: "c3",
        type: "function",
        function: { name: "g", arguments: "" },
      }],
    },
    { tool_calls: [{ index: 2, function: { arguments: "{}" } }] },
    {},
  ]);
  assert.deepEqual(
    chunks.map((chunk) => chunk.choices[0].finish_reason),
    [...Array(8).fill(null), "tool_calls"],
  );
  for (const chunk of chunks) {
    assert.deepEqual(Object.keys(chunk), [
      "id",
      "object",
      "created",
      "model",
      "choices",
    ]);
    assert.equal(chunk.id, "chatcmpl-msg_1");
  }
});

Deno.test("a Chat stream has usage only if requested, in the last chunk", () => {
  const answer = answerOf([], { usage: { inputTokens: 1, outputTokens: 2 } });
  assert.equal(chunksOf(answer).some((chunk) => "usage" in chunk), false);
  const chunks = chunksOf(answer, WITH_USAGE);
  assert.deepEqual(chunks.at(-1)?.choices, []);
  assert.deepEqual(chunks.map(({ usage }) => usage), [
    null,
    null,
    { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  ]);
  assert.equal(chunksOf(answerOf([]), WITH_USAGE).length, 2);
});

Deno.test("a Chat stream that fails ends with an error event and no [DONE]", () => {
  const encoder = chatCodec.createStreamEncoder(answerContext(requestOf()));
  encoder.push({
    type: "failure",
    failure: { kind: "rate_limited", message: "Too fast", code: "slow" },
  }, (frame) => {
    assert.deepEqual(frame, {
      event: "error",
      data:
        '{"error":{"message":"Too fast","type":"rate_limit_error","param":null,"code":"slow"}}',
    });
  });
  encoder.end(() => assert.fail("something came after the failure"));
});

Deno.test("a Chat stream is kept alive by comments", () => {
  const encoder = chatCodec.createStreamEncoder(answerContext(requestOf()));
  encoder.keepAlive((frame) =>
    assert.deepEqual(frame, { comment: "keep-alive" })
  );
});

Deno.test("decodeAnswer() ignores an empty delta beside the message (Perplexity)", () => {
  const answer = chatCodec.decodeAnswer({
    choices: [{
      index: 0,
      message: { role: "assistant", content: "4" },
      delta: { role: "assistant", content: "" },
      finish_reason: "stop",
    }],
  }, counterIds());
  assert.deepEqual(plain(answer.blocks), [{ kind: "text", text: "4" }]);
});

Deno.test("decodeAnswer() joins choices without an index to one answer (GitHub Copilot)", () => {
  const weather = { name: "weather", arguments: '{"city":"Rome"}' };
  const answer = chatCodec.decodeAnswer({
    choices: [
      { message: { content: "I look." }, finish_reason: "tool_calls" },
      {
        message: {
          tool_calls: [{ id: "c1", type: "function", function: weather }],
        },
        finish_reason: "tool_calls",
      },
    ],
  }, counterIds());
  assert.deepEqual(plain(answer.blocks), [
    { kind: "text", text: "I look." },
    { kind: "function_call", id: "c1", ...weather },
  ]);
  assert.equal(answer.stop.reason, "tool_calls");
});

Deno.test("decodeAnswer() throws a failure for a body that is no Chat answer", () => {
  const failures: [body: JsonValue, kind: FailureKind][] = [
    [null, "broken"],
    ["text", "broken"],
    [[], "broken"],
    [{}, "broken"],
    [{ choices: [] }, "broken"],
    [{ choices: [{ index: 3, message: {} }] }, "broken"],
    [{ error: { message: "x", code: 429 } }, "rate_limited"],
    [{ error: "x", choices: [] }, "server"],
    [{
      choices: [{ index: 0, error: { message: "x", code: 503 }, message: {} }],
    }, "overloaded"],
  ];
  for (const [body, kind] of failures) {
    assert.equal(failureOf(body).kind, kind, JSON.stringify(body));
  }
});

Deno.test("a Chat answer's citations have offsets in the whole content, in JSON and as a stream", () => {
  const url = "https://example.com/a";
  const cited = (text: string, rest: JsonObject = {}) => ({
    kind: "text",
    text,
    citations: [{ url, title: "T", ...rest }],
  } as const);
  const answer = answerOf([
    { kind: "text", text: "So: " },
    cited("it rains"),
    { kind: "reasoning", parts: [{ form: "raw", text: "hm" }] },
    cited("and snows", { startIndex: 4, endIndex: 9 }),
  ]);
  const content = "So: it rains\n\nand snows";
  const { message } = encode(answer);
  assert.equal(message.content, content);
  const streamed = deltasOf(answer).flatMap((delta) =>
    Object(delta).annotations ?? []
  );
  for (const annotations of [message.annotations, streamed]) {
    assert.ok(Array.isArray(annotations));
    const backed = annotations.map((annotation) => {
      const { start_index, end_index } = Object(annotation).url_citation;
      return content.slice(start_index, end_index);
    });
    assert.deepEqual(backed, ["it rains", "snows"]);
  }
});
