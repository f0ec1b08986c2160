import assert from "node:assert/strict";
import type { SseFrame } from "../../../../src/base/frame.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import {
  type Failure,
  oversizedAnswer,
  UpstreamFailure,
} from "../../../../src/codecs/canonical/failure/failure.ts";
import { foldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import { responsesCodec } from "../../../../src/codecs/responses/mod.ts";
import { chatCodec } from "../../../../src/codecs/chat/mod.ts";
import {
  answerContext,
  counterIds,
  decodeFrames,
} from "../../../contract/codec_contract.ts";
import {
  added,
  at,
  done,
  event,
} from "../../../support/wire/responses_events.ts";
import { steps } from "../../../support/steps.ts";

const HELLO = chatCodec.decodeRequest({
  model: "m",
  messages: [{ role: "user", content: "Hello" }],
});

const CALL = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "f",
  arguments: '{"a":1}',
};

Deno.test("createStreamDecoder() reads the type of an event from its line if the data has none", () => {
  const events = decodeFrames(responsesCodec, [
    frame({ response: { id: "resp_1" } }, "response.created"),
    frame({ output_index: 0, delta: "Hi" }, "response.output_text.delta"),
    frame({ response: {} }, "response.completed"),
  ]);
  assert.deepEqual(textsOf(events), ["Hi"]);
});

Deno.test("createStreamDecoder() reports only the counts that the provider sent", () => {
  const answer = foldAnswer(decodeFrames(responsesCodec, [
    frame({ response: { id: "resp_1" } }, "response.created"),
    frame({
      response: { usage: { input_tokens: 3, output_tokens: 2 } },
    }, "response.completed"),
  ]));
  assert.deepEqual(chatCodec.encodeAnswer(answer, answerContext(HELLO)).usage, {
    prompt_tokens: 3,
    completion_tokens: 2,
    total_tokens: 5,
  });
});

Deno.test("createStreamDecoder() emits deltas as they arrive", () => {
  const decoder = responsesCodec.createStreamDecoder(counterIds());
  const events: AnswerEvent[] = [];
  const push = (type: string, fields: JsonObject) =>
    decoder.push(frame({ type: `response.${type}`, ...fields }), (event) => {
      events.push(event);
    });
  push("created", { response: { id: "resp_1", model: "m", created_at: 5 } });
  assert.deepEqual(events.splice(0), [
    { type: "start", id: "resp_1", model: "m", createdAtMs: 5000 },
  ]);
  push("output_item.added", {
    output_index: 0,
    item: { ...CALL, arguments: "" },
  });
  assert.deepEqual(events.splice(0).map(({ type }) => type), ["block-start"]);
  push("function_call_arguments.delta", { output_index: 0, delta: '{"a"' });
  assert.deepEqual(events.splice(0), [
    { type: "block-delta", index: 0, text: '{"a"' },
  ]);
  push("function_call_arguments.done", {
    output_index: 0,
    arguments: CALL.arguments,
  });
  assert.deepEqual(events.splice(0), [
    { type: "block-delta", index: 0, text: ":1}" },
  ]);
  push("output_item.done", { output_index: 0, item: CALL });
  assert.deepEqual(events.splice(0), [{ type: "block-end", index: 0 }]);
});

Deno.test("createStreamDecoder() reads late and irregular calls", async (t) => {
  const cases: readonly (readonly [string, readonly JsonObject[], unknown])[] =
    [
      [
        "without an id",
        [event("output_item.done", { item: { ...CALL, call_id: "" } })],
        [["call_0001", "f", CALL.arguments]],
      ],
      [
        "named only when done",
        [
          event("output_item.added", { item: { ...CALL, name: "" } }),
          event("function_call_arguments.delta", { delta: '{"a":1}' }),
          event("output_item.done", { item: CALL }),
        ],
        [["call_1", "f", CALL.arguments]],
      ],
      [
        "with an object for arguments",
        [event("output_item.done", { item: { ...CALL, arguments: { a: 1 } } })],
        [["call_1", "f", CALL.arguments]],
      ],
      [
        "never done",
        [
          event("output_item.added", { item: { ...CALL, arguments: "" } }),
          event("function_call_arguments.delta", { delta: "{" }),
        ],
        [["call_1", "f", "{"]],
      ],
      [
        "sent twice",
        [
          done(0, CALL),
          done(0, CALL),
          event("function_call_arguments.delta", { delta: "more" }),
        ],
        [["call_1", "f", CALL.arguments]],
      ],
    ];
  await steps(t, cases, ([, frames, calls]) => {
    const answer = answerOf([...frames, event("completed", {})]);
    const found = answer.blocks.map((block) =>
      block.kind === "function_call"
        ? [block.id, block.name, block.arguments]
        : block
    );
    assert.deepEqual(found, calls);
    assert.equal(answer.stop.reason, found.length > 0 ? "tool_calls" : "end");
  });
});

Deno.test("createStreamDecoder() emits one failure for an error or an early end", async (t) => {
  const started = event("created", { response: { id: "resp_1" } });
  const cases: readonly (readonly [string, readonly SseFrame[], Failure])[] = [
    [
      "nothing",
      [],
      broken("The provider's stream ended before the answer did"),
    ],
    [
      "the end of the body before the last event",
      [frame(started), { data: "[DONE]" }],
      broken("The provider's stream ended before the answer did"),
    ],
    [
      "no JSON",
      [frame(started), { data: "{oops" }],
      broken("The provider sent an event that is not a JSON object"),
    ],
    [
      "a list",
      [{ data: "[]" }],
      broken("The provider sent an event that is not a JSON object"),
    ],
    [
      "a failed response",
      [
        frame(event("failed", {
          response: {
            error: {
              code: "rate_limit_exceeded",
              message: "Slow down. Please try again in 1.5s.",
            },
          },
        })),
      ],
      {
        kind: "rate_limited",
        status: undefined,
        message: "Slow down. Please try again in 1.5s.",
        type: undefined,
        code: "rate_limit_exceeded",
        param: undefined,
        retryAfterMs: 1500,
      },
    ],
    [
      "a failed response without a reason",
      [frame(event("failed", { response: {} }))],
      failure("server", "The provider ended the answer without a reason"),
    ],
    [
      "a flat error event",
      [
        frame({
          type: "error",
          code: "server_error",
          message: "Bad luck",
          param: null,
        }),
        frame(event("failed", { response: {} })),
      ],
      { ...failure("server", "Bad luck"), code: "server_error" },
    ],
    [
      "an error event with an object",
      [frame({
        type: "error",
        error: { type: "insufficient_quota", message: "Pay", code: null },
      })],
      {
        ...failure("quota", "Pay"),
        type: { protocol: "responses", value: "insufficient_quota" },
      },
    ],
    [
      "an error without a type",
      [frame({ error: { message: "Hm" } })],
      failure("server", "Hm"),
    ],
    [
      "a detail without a type",
      [frame({ detail: "Hm" })],
      failure("server", "Hm"),
    ],
    [
      "too many items",
      Array.from(
        { length: 1100 },
        (_, output_index) => frame(added(output_index, { type: "message" })),
      ),
      oversizedAnswer("The provider's answer has too many items"),
    ],
    [
      "too many blocks",
      Array.from(
        { length: 1100 },
        (_, content_index) =>
          frame(event("content_part.added", {
            output_index: 0,
            content_index,
            part: { type: "output_text" },
          })),
      ).toSpliced(0, 0, frame(added(0, { type: "message" }))),
      oversizedAnswer("The provider's answer has too many parts"),
    ],
    [
      "too many parts of reasoning",
      Array.from(
        { length: 1100 },
        (_, summary_index) =>
          frame(event("reasoning_summary_text.delta", {
            output_index: 0,
            summary_index,
            delta: "x",
          })),
      ),
      oversizedAnswer("The provider's answer has too many parts"),
    ],
  ];
  await steps(t, cases, ([, frames, expected]) => {
    const last = decodeFrames(responsesCodec, frames).at(-1);
    assert(last?.type === "failure", `ends with ${last?.type}`);
    assert.deepEqual(last.failure, expected);
  });
});

Deno.test("createStreamDecoder() closes a finished part, and does not repeat its text", () => {
  const place = { ...at(0, 0) };
  const part = { type: "output_text", text: "Hello" };
  const events = decodeFrames(
    responsesCodec,
    [
      event("output_text.delta", { ...place, delta: "Hel" }),
      event("content_part.done", { ...place, part }),
      event("output_text.done", { ...place, text: "Hello" }),
      event("output_text.delta", { ...place, content_index: 1, delta: "!" }),
      done(0, {
        type: "message",
        content: [part, { type: "output_text", text: "!" }],
      }),
      event("completed", {}),
    ].map((one) => frame(one)),
  );
  assert.deepEqual(events.map(({ type }) => type), [
    "start",
    "block-start",
    "block-delta",
    "block-delta",
    "block-end",
    "block-start",
    "block-delta",
    "block-end",
    "end",
  ]);
  assert.deepEqual(textsOf(events), ["Hel", "lo", "!"]);
});

Deno.test("createStreamDecoder() keeps the text of the pieces when the final text differs", () => {
  const written = '{"city": "Paris", "days": 3}';
  const call = { ...CALL, arguments: "" };
  const about = { ...at(0, 0) };
  const message = { type: "message", id: "msg_1", role: "assistant" };
  const part = { type: "output_text", text: "Fully different, and longer" };
  const events = decodeFrames(
    responsesCodec,
    [
      event("created", { response: { id: "resp_1" } }),
      added(0, message),
      event("output_text.delta", { ...about, delta: "fully" }),
      event("output_text.done", { ...about, text: part.text }),
      done(0, { ...message, content: [part] }),
      added(1, call),
      event("function_call_arguments.delta", {
        output_index: 1,
        delta: '{"city":"Paris","days":3}',
      }),
      event("function_call_arguments.done", {
        output_index: 1,
        arguments: written,
      }),
      done(1, { ...call, arguments: written }),
      event("completed", { response: {} }),
    ].map((one) => frame(one)),
  );
  assert.deepEqual(textsOf(events), ["fully", '{"city":"Paris","days":3}']);
});

Deno.test("createStreamDecoder() emits nothing after its end", () => {
  const events = decodeFrames(responsesCodec, [
    frame(event("completed", { response: { output: [] } })),
    frame(event("output_text.delta", { delta: "late" })),
    frame(event("failed", { response: {} })),
  ]);
  assert.deepEqual(events.map(({ type }) => type), ["start", "end"]);
});

Deno.test("createStreamDecoder() emits content that only the last event has", () => {
  const reasoning = {
    id: "rs_1",
    type: "reasoning",
    summary: [],
    encrypted_content: "gAAAA",
  };
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "Hello" }],
  };
  const answer = answerOf([
    added(1, { ...message, content: [] }),
    event("output_text.delta", { ...at(1, 0), delta: "Hel" }),
    event("completed", { response: { output: [reasoning, message] } }),
  ]);
  assert.deepEqual(
    answer.blocks.map((block) =>
      block.kind === "text" ? block.text : block.kind
    ),
    ["Hello", "reasoning"],
  );
});

Deno.test("decodeAnswer() throws for an unfinished answer, an error and other bodies", async (t) => {
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ["a string", "hi", /not an answer/],
    ["no output", {}, /not an answer/],
    ["a token count", { object: "response.input_tokens" }, /not an answer/],
    ["a queued answer", { status: "queued", output: [] }, /queued/],
    ["a cancelled answer", { status: "cancelled", output: [] }, /cancelled/],
    [
      "a running answer",
      { status: "in_progress", output: [] },
      /in_progress/,
    ],
    [
      "a failed answer",
      { status: "failed", output: [], error: { message: "Bad luck" } },
      /Bad luck/,
    ],
    ["an error", { error: { message: "Bad luck" } }, /Bad luck/],
    ["a detail", { detail: "Bad luck" }, /Bad luck/],
  ];
  await steps(t, cases, ([, body, message]) => {
    assert.throws(
      () =>
        responsesCodec.decodeAnswer(
          JSON.parse(JSON.stringify(body)),
          counterIds(),
        ),
      (error) =>
        error instanceof UpstreamFailure && message.test(error.message),
    );
  });
});

function frame(data: JsonObject, name?: string): SseFrame {
  return { event: name, data: JSON.stringify(data) };
}

function answerOf(events: readonly JsonObject[]) {
  return foldAnswer(
    decodeFrames(responsesCodec, events.map((one) => frame(one))),
  );
}

function textsOf(events: readonly AnswerEvent[]): string[] {
  return events.flatMap((one) => one.type === "block-delta" ? [one.text] : []);
}

function failure(kind: Failure["kind"], message: string): Failure {
  return {
    kind,
    status: undefined,
    message,
    type: undefined,
    code: undefined,
    param: undefined,
    retryAfterMs: undefined,
  };
}

function broken(fault: string): Failure {
  return { kind: "broken", message: `${fault}. Try again later.` };
}

Deno.test("createStreamDecoder() and decodeAnswer() report the reasons for dropping earlier reasoning", () => {
  const removed = (reason: string) => ({
    type: "reasoning",
    action: "removed",
    id: "rs_1",
    reason,
  });
  const input_transformations = [
    removed("prefix_mismatch"),
    removed("prefix_mismatch"),
    removed("model_mismatch"),
    { ...removed("turn_boundary"), action: "moved" },
  ];
  const reasons = ["prefix_mismatch", "model_mismatch"];
  const response = { id: "resp_1", input_transformations };
  for (const type of ["response.created", "response.completed"]) {
    const events = decodeFrames(responsesCodec, [
      frame(
        { response: type === "response.created" ? response : {} },
        "response.created",
      ),
      frame(
        { response: type === "response.created" ? {} : response },
        "response.completed",
      ),
    ]);
    assert.deepEqual(foldAnswer(events).reasoningDropped, reasons);
  }
  const whole = { ...response, status: "completed", output: [] };
  const answer = responsesCodec.decodeAnswer(whole, counterIds());
  assert.deepEqual(answer.reasoningDropped, reasons);
});
