import assert from "node:assert/strict";
import { wordList } from "../../../../src/base/collections.ts";
import type { SseComment, SseFrame } from "../../../../src/base/frame.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../../src/base/json.ts";
import { runStage } from "../../../../src/base/stage.ts";
import type { AnswerBlock } from "../../../../src/codecs/canonical/content/block.ts";
import type { AnswerContext } from "../../../../src/codecs/canonical/codec.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { UpstreamFailure } from "../../../../src/codecs/canonical/failure/failure.ts";
import { unfoldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import { MAX_HELD_CHARACTERS } from "../../../../src/codecs/canonical/max_sizes.ts";
import {
  textDigest,
  unwrapSealed,
} from "../../../../src/codecs/canonical/content/sealed.ts";
import type { StopReason } from "../../../../src/codecs/canonical/answer/answer.ts";
import { responsesCodec } from "../../../../src/codecs/responses/mod.ts";
import { formatFrame } from "../../../../src/base/streams/sse.ts";
import { ANSWERS } from "../../../contract/answers.ts";
import { answerContext } from "../../../contract/codec_contract.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";
import { foldResponses } from "../../../support/sdk/responses_fold.ts";
import { steps } from "../../../support/steps.ts";

for (const { name, answer } of ANSWERS) {
  Deno.test(`createStreamEncoder() writes events in the order of Responses for the sample "${name}"`, () => {
    const body = foldResponses(textOf(encode(eventsOf(answer.blocks))));
    assert.equal(body.object, "response");
  });
}

Deno.test("createStreamEncoder() writes the events of every kind of item", () => {
  const frames = encode([
    START,
    startOf(0, "reasoning"),
    { type: "block-part", index: 0, form: "raw" },
    deltaOf(0, "Hm"),
    { type: "block-part", index: 0, form: "raw" },
    deltaOf(0, "so"),
    endOf(0),
    startOf(1),
    deltaOf(1, "Hi"),
    { type: "block-citation", index: 1, citation: { url: "https://x.test" } },
    endOf(1),
    startOf(2, "refusal"),
    deltaOf(2, "No"),
    endOf(2),
    callOf(3, "f"),
    endOf(3),
    {
      type: "block-start",
      index: 4,
      block: { kind: "custom_call", id: "c", name: "g" },
    },
    deltaOf(4, "in"),
    endOf(4),
    END,
  ]);
  assert.deepEqual(
    frames.map(({ event }) => event?.replace("response.", "")),
    wordList(`
      created in_progress output_item.added reasoning_summary_part.added
      reasoning_summary_text.delta reasoning_summary_text.done
      reasoning_summary_part.done reasoning_summary_part.added
      reasoning_summary_text.delta reasoning_summary_text.done
      reasoning_summary_part.done output_item.done output_item.added
      content_part.added output_text.delta output_text.annotation.added
      output_text.done content_part.done content_part.added refusal.delta
      refusal.done content_part.done output_item.done output_item.added
      function_call_arguments.delta function_call_arguments.done
      output_item.done output_item.added custom_tool_call_input.delta
      custom_tool_call_input.done output_item.done completed
    `),
  );
  const answer = foldResponses(textOf(frames));
  assert.deepEqual(answer.output, [
    {
      id: "rs_0001",
      type: "reasoning",
      summary: [
        { type: "summary_text", text: "Hm" },
        { type: "summary_text", text: "so" },
      ],
      encrypted_content: "mg1.",
    },
    {
      id: "msg_0002",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [
        {
          type: "output_text",
          text: "Hi",
          annotations: [{
            type: "url_citation",
            url: "https://x.test",
            title: "https://x.test",
            start_index: 0,
            end_index: 2,
          }],
          logprobs: [],
        },
        { type: "refusal", refusal: "No" },
      ],
    },
    {
      id: "fc_0003",
      type: "function_call",
      call_id: "id-f",
      status: "completed",
      name: "f",
      arguments: "{}",
    },
    {
      id: "ctc_0004",
      type: "custom_tool_call",
      call_id: "c",
      status: "completed",
      name: "g",
      input: "in",
    },
  ]);
});

Deno.test("createStreamEncoder() writes parallel calls one after another", () => {
  const frames = encode([
    START,
    callOf(0, "f"),
    callOf(1, "g"),
    deltaOf(1, '{"b":2}'),
    deltaOf(0, '{"a":1}'),
    endOf(1),
    endOf(0),
    END,
  ]);
  const { output } = foldResponses(textOf(frames));
  assert(Array.isArray(output));
  assert.deepEqual(
    output.map((item) => Object(item).arguments),
    ['{"a":1}', '{"b":2}'],
  );
});

Deno.test("createStreamEncoder() keeps a call's namespace", () => {
  const { output } = foldResponses(textOf(encode([
    START,
    {
      type: "block-start",
      index: 0,
      block: { kind: "function_call", id: "a", name: "f", namespace: "n" },
    },
    endOf(0),
    END,
  ])));
  assert(Array.isArray(output));
  assert.equal(Object(output[0]).namespace, "n");
});

Deno.test("createStreamEncoder() writes calls of typed tools in their own shape", () => {
  const context = contextOf({
    tools: [
      { type: "local_shell" },
      { type: "shell" },
      { type: "apply_patch" },
      { type: "tool_search", execution: "client" },
    ],
  });
  const blocks: AnswerBlock[] = [
    call("local_shell", '{"command":["ls"]}'),
    call("shell", '{"commands":["ls"]}'),
    call("apply_patch", '{"type":"delete_file","path":"x"}'),
    call("tool_search", '{"query":"q"}'),
    call("other", "{}"),
  ];
  const answer = foldResponses(textOf(encode(eventsOf(blocks), context)));
  assert(Array.isArray(answer.output));
  const items = answer.output.map((item) => {
    const { id: _id, call_id: _call, status: _status, ...rest } = Object(item);
    return rest;
  });
  assert.deepEqual(items, [
    {
      type: "local_shell_call",
      action: { type: "exec", command: ["ls"], env: {} },
    },
    {
      type: "shell_call",
      action: { commands: ["ls"], timeout_ms: null, max_output_length: null },
    },
    { type: "apply_patch_call", operation: { type: "delete_file", path: "x" } },
    {
      type: "tool_search_call",
      arguments: { query: "q" },
      execution: "client",
    },
    { type: "function_call", name: "other", arguments: "{}" },
  ]);
});

Deno.test("createStreamEncoder() writes OpenAI's sealed parts unchanged, and others in an envelope", () => {
  const sealedOf = (protocol: "messages" | "responses", form: string) => {
    const { output } = foldResponses(textOf(encode([
      START,
      startOf(0, "reasoning"),
      {
        type: "block-seal",
        index: 0,
        sealed: { protocol, form, value: "secret" },
      },
      endOf(0),
      END,
    ])));
    assert(Array.isArray(output));
    return String(Object(output[0]).encrypted_content);
  };
  assert.equal(sealedOf("responses", "encrypted_content"), "secret");
  assert.deepEqual(unwrapSealed(sealedOf("messages", "signature")), {
    protocol: "messages",
    form: "signature",
    value: "secret",
    id: undefined,
    origin: "connection-1",
    text: textDigest([]),
  });
});

Deno.test("createStreamEncoder() writes no events for empty reasoning", () => {
  const frames = encode([START, startOf(0, "reasoning"), endOf(0), END]);
  assert.deepEqual(foldResponses(textOf(frames)).output, []);
});

Deno.test("createStreamEncoder() writes other protocols' blocks as text, or reports them", () => {
  const dropped: string[] = [];
  const context = {
    ...contextOf({}),
    drop: (part: string) => {
      dropped.push(part);
    },
  };
  const opaque = (type: string, text?: string): AnswerBlock => ({
    kind: "opaque",
    protocol: "messages",
    type,
    value: {},
    text,
    weight: "report",
  });
  const blocks: AnswerBlock[] = [
    call("f", "{}"),
    opaque("server_tool_use"),
    opaque("search_result", "found"),
    { kind: "text", text: "!", citations: [{ quote: "a page of a file" }] },
  ];
  const answer = foldResponses(textOf(encode(eventsOf(blocks), context)));
  assert(Array.isArray(answer.output));
  assert.deepEqual(
    answer.output.map((item) => Object(item).type),
    ["function_call", "message", "message"],
  );
  assert.deepEqual(
    answer.output.slice(1).map((item) => Object(item).content[0].text),
    ["found", "!"],
    "the text of a hosted tool is separate from the answer",
  );
  assert.deepEqual(dropped, ["server_tool_use", "citation"]);
});

Deno.test("createStreamEncoder() writes the status for every stop reason", async (t) => {
  const cases: readonly (readonly [StopReason, string, string | null])[] = [
    ["end", "completed", null],
    ["stop_sequence", "completed", null],
    ["tool_calls", "completed", null],
    ["paused", "completed", null],
    ["other", "incomplete", "max_output_tokens"],
    ["max_tokens", "incomplete", "max_output_tokens"],
    ["context_full", "incomplete", "max_output_tokens"],
    ["filtered", "incomplete", "content_filter"],
  ];
  await steps(t, cases, ([reason, status, detail]) => {
    const answer = foldResponses(textOf(encode([
      START,
      startOf(0),
      deltaOf(0, "Hi"),
      endOf(0),
      { type: "end", stop: { reason } },
    ])));
    assert.equal(answer.status, status);
    assert.deepEqual(
      answer.incomplete_details,
      detail === null ? null : { reason: detail },
    );
    assert(Array.isArray(answer.output));
    assert.equal(Object(answer.output[0]).status, status);
  });
});

Deno.test("createStreamEncoder() repeats the request's format with every field", () => {
  const schema = {
    type: "object",
    properties: {},
    additionalProperties: false,
  };
  const formatOf = (fields: JsonObject) => {
    const text = {
      format: { type: "json_schema", name: "n", schema, ...fields },
    };
    const answer = foldResponses(
      textOf(encode(
        [START, { type: "end", stop: { reason: "end" } }],
        contextOf({ text }),
      )),
    );
    return isJsonObject(answer.text) ? answer.text.format : undefined;
  };
  const format = { type: "json_schema", name: "n", schema };
  assert.deepEqual(formatOf({}), {
    ...format,
    description: "",
    strict: true,
  });
  const said = { description: "What it is", strict: false };
  assert.deepEqual(formatOf(said), { ...format, ...said });
});

Deno.test("createStreamEncoder() repeats the request's settings", () => {
  const context = contextOf({
    instructions: "Be brief.",
    temperature: 0.5,
    reasoning: { effort: "low" },
    tools: [{ type: "function", name: "f", strict: false }],
    tool_choice: "required",
    metadata: { a: "b" },
  });
  const answer = foldResponses(
    textOf(encode([START, {
      type: "end",
      stop: { reason: "end" },
      serviceTier: { protocol: "responses", value: "flex" },
    }], context)),
  );
  assert.equal(answer.instructions, "Be brief.");
  assert.equal(answer.temperature, 0.5);
  assert.equal(answer.tool_choice, "required");
  assert.equal(answer.service_tier, "flex");
  assert.deepEqual(answer.reasoning, { effort: "low", summary: null });
  assert.deepEqual(answer.metadata, { a: "b" });
  assert.deepEqual(answer.tools, [{
    type: "function",
    name: "f",
    description: null,
    parameters: { type: "object", properties: {} },
    strict: false,
  }]);
  assert.deepEqual(answer.usage, {
    input_tokens: 7,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 7,
  });
});

Deno.test("createStreamEncoder() writes keep-alives as events, even before the first event of the answer", () => {
  const encoder = responsesCodec.createStreamEncoder(contextOf({}));
  const frames: (SseFrame | SseComment)[] = [];
  const emit = (frame: SseFrame | SseComment) => {
    frames.push(frame);
  };
  encoder.keepAlive(emit);
  encoder.push(START, emit);
  encoder.keepAlive(emit);
  assert.deepEqual(
    frames.map((frame) => "event" in frame ? frame.event : undefined),
    ["response.created", "response.in_progress", "keepalive", "keepalive"],
  );
  assert.deepEqual(frames.at(-1), {
    event: "keepalive",
    data: '{"type":"keepalive","sequence_number":3}',
  });
  encoder.push(END, emit);
  const { length } = frames;
  encoder.keepAlive(emit);
  encoder.push(deltaOf(0, "late"), emit);
  assert.equal(frames.length, length);
});

Deno.test("createStreamEncoder() writes a failure with a code that clients know", async (t) => {
  const cases = [
    [
      "rate_limited",
      undefined,
      1500,
      "rate_limit_exceeded",
      "No. Please try again in 1.5s.",
    ],
    ["rate_limited", undefined, undefined, "rate_limit_exceeded", "No"],
    ["context_too_long", undefined, undefined, "context_length_exceeded", "No"],
    ["quota", undefined, undefined, "insufficient_quota", "No"],
    ["invalid_request", undefined, undefined, "invalid_prompt", "No"],
    ["filtered", "cyber_policy", undefined, "cyber_policy", "No"],
    ["overloaded", "server_is_overloaded", undefined, "server_error", "No"],
    ["broken", "odd", undefined, "server_error", "No"],
    ["oversized", "upstream_oversized", undefined, "server_error", "No"],
    [
      "authentication",
      "invalid_api_key",
      undefined,
      "server_error",
      "The model's provider does not accept the gateway's credential. Report it to the administrator.",
    ],
  ] as const;
  for (const [kind, code, retryAfterMs, shownCode, message] of cases) {
    await t.step(`${kind} ${code ?? ""}`, () => {
      const frames = encode([START, startOf(0), deltaOf(0, "H"), {
        type: "failure",
        failure: { kind, message: "No", code, retryAfterMs },
      }]);
      const last = dataOf(frames.at(-1));
      assert.equal(last.type, "response.failed");
      assert(isJsonObject(last.response));
      assert.equal(last.response.status, "failed");
      assert.deepEqual(last.response.error, { code: shownCode, message });
    });
  }
});

Deno.test("createStreamEncoder() throws a failure for an answer that is too large to hold, and then writes the failure", () => {
  const encoder = responsesCodec.createStreamEncoder(contextOf({}));
  const frames: SseFrame[] = [];
  const push = (event: AnswerEvent) =>
    encoder.push(event, (frame) => frames.push(frame));
  const piece = deltaOf(0, "x".repeat(MAX_HELD_CHARACTERS / 4));
  for (const event of [START, startOf(0), piece, piece, piece, piece]) {
    push(event);
  }
  let thrown: unknown;
  try {
    push(piece);
  } catch (error) {
    thrown = error;
  }
  assert(thrown instanceof UpstreamFailure);
  assert.equal(thrown.failure.kind, "oversized");
  push({ type: "failure", failure: thrown.failure });
  assert.equal(frames.at(-1)?.event, "response.failed");
});

Deno.test("createStreamEncoder() writes `response.created` before a failure", () => {
  const frames = encode([{
    type: "failure",
    failure: { kind: "server", message: "No" },
  }]);
  assert.deepEqual(frames.map(({ event }) => event), [
    "response.created",
    "response.in_progress",
    "response.failed",
  ]);
});

Deno.test("createStreamEncoder() writes one compaction item after a compaction trigger", () => {
  const context = contextOf({
    input: [{ role: "user", content: "Hi" }, { type: "compaction_trigger" }],
  });
  const blocks: AnswerBlock[] = [
    { kind: "reasoning", parts: [{ form: "raw", text: "Hm" }] },
    { kind: "text", text: "They said" },
    { kind: "text", text: " hi." },
  ];
  const { output } = foldResponses(textOf(encode(eventsOf(blocks), context)));
  assert(Array.isArray(output));
  assert.equal(output.length, 1);
  const item = output[0];
  assert(isJsonObject(item));
  assert.equal(item.type, "compaction");
  const next = responsesCodec.decodeRequest({ model: "m", input: [item] });
  const block = next.turns[0]?.blocks[0];
  assert(block?.kind === "opaque");
  assert.match(block.text ?? "", /They said hi\.$/);
});

function contextOf(fields: JsonObject): AnswerContext {
  return answerContext(
    responsesCodec.decodeRequest({ model: "m", input: "hi", ...fields }),
  );
}

function encode(
  events: readonly AnswerEvent[],
  context: AnswerContext = contextOf({}),
): SseFrame[] {
  return runStage(responsesCodec.createStreamEncoder(context), events);
}

function eventsOf(blocks: readonly AnswerBlock[]): AnswerEvent[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(
    { id: "x", model: "m", blocks, stop: { reason: "end" } },
    (event) => {
      events.push(event);
    },
  );
  return events;
}

function textOf(frames: readonly SseFrame[]): string {
  return frames.map(formatFrame).join("");
}

function dataOf(frame: SseFrame | undefined): JsonObject {
  const data = parseJson(frame?.data ?? "");
  assert(isJsonObject(data));
  return data;
}

function call(name: string, text: string): AnswerBlock {
  return { kind: "function_call", id: `id-${name}`, name, arguments: text };
}

Deno.test("createStreamEncoder() writes each message as an item, with its phase", () => {
  const text = (index: number, phase?: string): AnswerEvent => ({
    type: "block-start",
    index,
    block: { kind: "text", message: phase === undefined ? {} : { phase } },
  });
  const answer = foldResponses(textOf(encode([
    START,
    text(0, "commentary"),
    deltaOf(0, "I look"),
    endOf(0),
    text(1),
    deltaOf(1, "It rains"),
    endOf(1),
    END,
  ])));
  assert.ok(Array.isArray(answer.output));
  assert.deepEqual(
    answer.output.map((item) => [
      Object(item).phase,
      Object(item).content[0].text,
    ]),
    [["commentary", "I look"], [undefined, "It rains"]],
  );
});

Deno.test("createStreamEncoder() lets a citation without offsets span the whole text, before or after its deltas", () => {
  const citation: AnswerEvent = {
    type: "block-citation",
    index: 0,
    citation: { url: "https://x.test" },
  };
  const text = [deltaOf(0, "It "), deltaOf(0, "rains")];
  for (const events of [[citation, ...text], [...text, citation]]) {
    const answer = foldResponses(
      textOf(encode([START, startOf(0), ...events, endOf(0), END])),
    );
    assert.ok(Array.isArray(answer.output));
    const [annotation] = Object(answer.output[0]).content[0].annotations;
    assert.deepEqual([annotation.start_index, annotation.end_index], [0, 8]);
  }
});
