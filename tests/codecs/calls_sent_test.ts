import assert from "node:assert/strict";
import { GatewayError } from "../../src/base/error.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { runStage } from "../../src/base/stage.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../src/codecs/canonical/answer/fold.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import { isToolCall } from "../../src/codecs/canonical/content/block.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import { restoreNames } from "../../src/codecs/canonical/tools/restore_tools.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { responsesInChatCodec } from "../../src/codecs/responses_in_chat/mod.ts";
import { editAnswer } from "../../src/codecs/translate_stream.ts";
import { sseBytes } from "../support/wire/sse_bytes.ts";
import { counterIds, decodeBytes } from "../contract/codec_contract.ts";
import {
  received,
  type UpstreamRequest,
} from "../support/dialects/upstream_request.ts";

// Tool calls in both directions. The provider gets names, ids and arguments that it accepts, and the caller gets its
// own.

const PROTOCOLS: readonly Protocol[] = ["chat", "messages", "responses"];

/** Returns a request with a tool, a forced choice, and a history of calls with these ids. */
function conversation(
  from: Protocol,
  { name = "look", ids = ["id-1"], input = "{}" as unknown } = {},
): JsonObject {
  const parameters = { type: "object", properties: { a: {} } };
  const value = input as JsonObject;
  switch (from) {
    case "chat":
      return {
        tools: [{ type: "function", function: { name, parameters } }],
        tool_choice: { type: "function", function: { name } },
        messages: ids.flatMap((id) => [
          { role: "user", content: "Go on" },
          {
            role: "assistant",
            content: null,
            tool_calls: [{
              id,
              type: "function",
              function: { name, arguments: value },
            }],
          },
          { role: "tool", tool_call_id: id, content: "seen" },
        ]),
      };
    case "messages":
      return {
        tools: [{ name, input_schema: parameters }],
        tool_choice: { type: "tool", name },
        messages: ids.flatMap((id) => [
          { role: "user", content: "Go on" },
          {
            role: "assistant",
            content: [{ type: "tool_use", id, name, input: value }],
          },
          {
            role: "user",
            content: [{
              type: "tool_result",
              tool_use_id: id,
              content: "seen",
            }],
          },
        ]),
      };
    case "responses":
      return {
        tools: [{ type: "function", name, parameters }],
        tool_choice: { type: "function", name },
        input: ids.flatMap((call_id) => [
          { role: "user", content: "Go on" },
          { type: "function_call", call_id, name, arguments: value },
          { type: "function_call_output", call_id, output: "seen" },
        ]),
      };
  }
}

/** Returns all values of these fields, at any depth, in order. */
function valuesOf(value: unknown, ...fields: string[]): unknown[] {
  if (Array.isArray(value)) {
    return value.flatMap((one) => valuesOf(one, ...fields));
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([field, inner]) =>
    fields.includes(field) ? [inner] : valuesOf(inner, ...fields)
  );
}

/** Returns a whole answer of a provider with these calls. */
function answerOf(
  to: Protocol,
  calls: readonly JsonObject[],
  isCut = false,
): JsonObject {
  switch (to) {
    case "chat":
      return {
        id: "c",
        model: "m",
        choices: [{
          index: 0,
          message: {
            role: "assistant",
            tool_calls: calls.map(({ id, ...shape }) => ({
              id: id ?? null,
              type: "function",
              function: shape,
            })),
          },
          finish_reason: isCut ? "length" : "tool_calls",
        }],
      };
    case "messages":
      return {
        id: "c",
        model: "m",
        content: calls.map(({ arguments: text, ...call }) => ({
          type: "tool_use",
          ...call,
          input: JSON.parse(String(text)),
        })),
        stop_reason: "tool_use",
      };
    case "responses":
      return {
        id: "c",
        model: "m",
        status: isCut ? "incomplete" : "completed",
        ...(isCut
          ? { incomplete_details: { reason: "max_output_tokens" } }
          : {}),
        output: calls.map(({ id, ...call }) => ({
          type: "function_call",
          call_id: id ?? null,
          ...(isCut ? { status: "incomplete" } : {}),
          ...call,
        })),
      };
  }
}

/** Returns the same answer as events of a stream. */
function streamOf(to: Protocol, answer: JsonObject): Uint8Array {
  if (to === "chat") {
    const [choice] = answer.choices as JsonObject[];
    const { tool_calls } = choice?.message as JsonObject;
    const delta = {
      tool_calls: (tool_calls as JsonObject[]).map((call, index) => ({
        index,
        ...call,
      })),
    };
    return sseBytes(
      { ...answer, choices: [{ index: 0, delta }] },
      { ...answer, choices: [{ ...choice, message: undefined, delta: {} }] },
    );
  }
  if (to === "messages") {
    return sseBytes(
      { type: "message_start", message: { id: "c", model: "m" } },
      ...(answer.content as JsonObject[]).flatMap((content_block, index) => [
        { type: "content_block_start", index, content_block },
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    );
  }
  return sseBytes(
    { type: "response.created", response: { id: "c", model: "m" } },
    ...(answer.output as JsonObject[]).map((item, output_index) => ({
      type: "response.output_item.done",
      output_index,
      item,
    })),
    { type: `response.${String(answer.status)}`, response: answer },
  );
}

/** Returns the events for the caller's encoder. */
function eventsOf(
  to: Protocol,
  answer: JsonObject,
  isStream: boolean,
  sent?: UpstreamRequest,
  ids = counterIds(),
): readonly AnswerEvent[] {
  const edits = editAnswer(
    { aliases: sent?.aliases ?? new Map(), cuts: [], isTagged: false },
    ids,
    !isStream,
  );
  const events: AnswerEvent[] = [];
  try {
    if (isStream) {
      events.push(...decodeBytes(CODECS[to], streamOf(to, answer)));
    } else {
      unfoldAnswer(CODECS[to].decodeAnswer(answer, ids), (event) => {
        events.push(event);
      });
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    events.push({ type: "failure", failure: error.failure });
  }
  return runStage(edits, events);
}

function callsIn({ blocks }: Answer) {
  return blocks.filter(isToolCall);
}

const ODD_NAMES = ["21st_magic", "1password_get", "-x", "123", "_under", "éa"];

const STRICT = [
  "chat gemini gemini-3-pro",
  "chat vertex google/gemini-3-pro",
  "chat kimi kimi-k3",
  "chat custom some-model",
  "messages custom some-model",
  "responses custom some-model",
];

const LAX = [
  "chat openai gpt-5.2",
  "messages anthropic claude-opus-5",
  "responses openai gpt-5.2",
];

Deno.test("strict hosts get tool names that begin with a letter, and the caller gets the original names in calls and errors", () => {
  for (const from of PROTOCOLS) {
    for (const target of STRICT) {
      for (const name of ODD_NAMES) {
        const sent = received(from, target, conversation(from, { name }));
        const names = valuesOf(sent.body, "name");
        const [first] = names;
        assert.ok(names.length >= 2, target);
        assert.match(String(first), /^[A-Za-z][A-Za-z0-9_-]{0,63}$/);
        assert.deepEqual(new Set(names), new Set([first]));
        const [to] = target.split(" ") as [Protocol];
        const given = answerOf(to, [{
          id: "id-2",
          name: String(first),
          arguments: "{}",
        }]);
        for (const isStream of [false, true]) {
          const answer = foldAnswer(eventsOf(to, given, isStream, sent));
          assert.deepEqual(callsIn(answer).map((call) => call.name), [name]);
        }
        const { message } = restoreNames({
          kind: "invalid_request",
          message: `Invalid tool \`${String(first)}\``,
        }, sent.aliases);
        assert.equal(message, `Invalid tool \`${name}\``);
      }
    }
  }
});

Deno.test("OpenAI and Claude get unusual tool names that they accept unchanged", () => {
  for (const from of PROTOCOLS) {
    for (const target of LAX) {
      for (const name of ODD_NAMES.slice(0, 4)) {
        const { body } = received(from, target, conversation(from, { name }));
        assert.deepEqual(new Set(valuesOf(body, "name")), new Set([name]));
      }
    }
  }
});

Deno.test("every provider gets a history's arguments as one JSON object, and wrapped arguments are named", () => {
  const bad = ['{"a":', '{"a":1}{"b":2}', "[1]", '"text"', "7", "oops"];
  for (const from of PROTOCOLS) {
    for (const target of [...STRICT, ...LAX]) {
      for (const input of [...bad, "", "null", '{"a":[1]}']) {
        const isBad = bad.includes(input);
        // Some clients of Messages send a text in place of the object.
        const given = from === "messages" && !isBad
          ? [input, JSON.parse(input || "null")]
          : [input];
        for (const one of given) {
          const { body, dropped } = received(
            from,
            target,
            conversation(from, { input: one }),
            true,
          );
          const [value] = valuesOf(body.messages ?? body.input, "arguments")
            .map((text) => JSON.parse(String(text))).concat(
              valuesOf(body.messages, "input"),
            );
          const whole = input.startsWith("{") ? { a: [1] } : {};
          const expected = isBad ? { _raw: input } : whole;
          assert.deepEqual(value, expected, `${from} ${target} ${input}`);
          const field = from === "responses" ? "input" : "messages";
          assert.deepEqual(dropped, isBad ? [field] : []);
        }
      }
    }
  }
});

/** Returns the numbers of the first call in each answer: most providers count from 0, some from 1. */
function countingFrom(from: Protocol): (readonly [Protocol, number])[] {
  return [[from, 0], [from, 1], [from, 40]];
}

Deno.test("calls that a provider numbers in each answer get unique ids in a session, and the provider gets its own ids back", () => {
  for (const [from, first] of PROTOCOLS.flatMap(countingFrom)) {
    for (
      const [to, target] of [["chat", "chat bedrock m"], [
        "responses",
        "responses custom m",
      ], ["messages", "messages custom m"]] as const
    ) {
      for (const isStream of [false, true]) {
        const ids = counterIds();
        const given: string[] = [];
        for (let turn = 0; turn < 3; turn++) {
          const answer = answerOf(
            to,
            [first, first + 1].map((position) => ({
              id: `call_${position}`,
              name: "look",
              arguments: "{}",
            })),
          );
          const events = eventsOf(to, answer, isStream, undefined, ids);
          given.push(...callsIn(foldAnswer(events)).map(({ id }) => id));
        }
        assert.equal(new Set(given).size, 6);
        assert.ok(given.every((id) => /^[\w-]{1,64}$/.test(id)));
        const { body } = received(
          from,
          target,
          conversation(from, { ids: given }),
        );
        const sent = valuesOf(body, "tool_call_id", "tool_use_id", "call_id");
        const calls = to === "responses"
          ? sent.filter((_, index) => index % 2 === 0)
          : sent;
        const own = [`call_${first}`, `call_${first + 1}`];
        assert.deepEqual(calls.slice(0, 2), own);
        if (to === "chat") {
          assert.deepEqual(calls, [...own, ...own, ...own]);
        } else assert.equal(new Set(calls).size, 6);
      }
    }
  }
});

Deno.test("an id without a call number does not change, even if it resembles an id of the gateway", () => {
  const kept = [
    "toolu_01A",
    "call_0x",
    "functions.look:0",
    "D681PevKs",
  ];
  for (const id of kept) {
    const answer = answerOf("chat", [{ id, name: "look", arguments: "{}" }]);
    const [call] = callsIn(foldAnswer(eventsOf("chat", answer, false)));
    assert.equal(call?.id, id);
  }
  const ids = ["call_0_0123456789abcdef"];
  const { body } = received(
    "chat",
    "responses openai gpt-5.2",
    conversation("chat", { ids }),
  );
  assert.deepEqual(valuesOf(body, "call_id"), [ids[0], ids[0]]);
});

Deno.test("several calls with one id in a history get different ids, and each result has the id of its call", () => {
  for (const from of PROTOCOLS) {
    for (const target of [...STRICT, ...LAX]) {
      const ids = ["same", "same", "same"];
      const { body } = received(from, target, conversation(from, { ids }));
      const list = body.messages ?? body.input;
      const results = valuesOf(list, "tool_call_id", "tool_use_id", "call_id");
      const own = target.startsWith("responses")
        ? results.filter((_, index) => index % 2 === 0)
        : valuesOf(list, "id");
      const answered = target.startsWith("responses")
        ? results.filter((_, index) => index % 2 === 1)
        : results;
      assert.deepEqual(own, answered, target);
      assert.equal(new Set(own).size, 3, target);
    }
  }
});

Deno.test("an answer whose only call has no name fails as broken, unless it was cut off", () => {
  const names: JsonObject[] = [{}, { name: null }, { name: "" }];
  for (const to of PROTOCOLS) {
    for (const name of names) {
      for (const text of ["{}", '{"a":1}']) {
        for (const isStream of [false, true]) {
          const call = { id: "id-1", ...name, arguments: text };
          const events = eventsOf(to, answerOf(to, [call]), isStream);
          const last = events.at(-1);
          assert.ok(last?.type === "failure", `${to} ${JSON.stringify(call)}`);
          assert.equal(last.failure.kind, "broken");
          assert.match(last.failure.message, /called a tool without a name/);
          if (to === "messages") continue;
          const cut = eventsOf(to, answerOf(to, [call], true), isStream);
          assert.equal(cut.at(-1)?.type, "end");
        }
      }
    }
  }
  for (const isStream of [false, true]) {
    const nothing = eventsOf(
      "chat",
      answerOf("chat", [{ name: null, arguments: "" }]),
      isStream,
    );
    assert.equal(nothing.at(-1)?.type, "failure");
  }
});

Deno.test("a tool result's content must be text or a list of blocks, or an error names its field", () => {
  const result = (content: unknown) =>
    received("messages", "chat openai gpt-5.2", {
      messages: [
        { role: "user", content: "Go on" },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "i", name: "f", input: {} }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "i", content } as JsonObject,
          ],
        },
      ],
    });
  for (
    const content of [{ type: "text", text: "hello" }, 5, true, ["hello"], [5]]
  ) {
    assert.throws(() => result(content), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.status, 400);
      assert.match(
        String(error.param),
        /^messages\[2\]\.content\[0\]\.content(\[0\])?$/,
      );
      return true;
    });
  }
  for (const content of ["hello", [{ type: "text", text: "hello" }]]) {
    assert.ok(JSON.stringify(result(content).body).includes("hello"));
  }
  for (const content of [undefined, null, "", []]) result(content);
});

Deno.test("a Responses caller gets an empty input for a custom tool that was called without input", () => {
  for (
    const [to, target] of [["chat", "chat custom m"], [
      "messages",
      "messages anthropic claude-opus-5",
    ]] as const
  ) {
    const sent = received("responses", target, {
      tools: [{ type: "custom", name: "patch" }],
    });
    for (const isStream of [false, true]) {
      for (
        const [text, input] of [["{}", ""], ['{"input":""}', ""], [
          '{"input":"x"}',
          "x",
        ]] as const
      ) {
        const answer = answerOf(to, [{
          id: "id-1",
          name: "patch",
          arguments: text,
        }]);
        const [call] = callsIn(
          foldAnswer(eventsOf(to, answer, isStream, sent)),
        );
        assert.ok(call?.kind === "custom_call");
        assert.equal(call.input, input);
      }
    }
  }
});

Deno.test("a request without any block that the model can read is refused", () => {
  const unknown = { type: "future_item", value: 1 };
  const reasoning = { type: "reasoning", summary: [], encrypted_content: "x" };
  for (
    const target of [
      "chat custom m",
      "chat zai glm-5",
      "messages anthropic claude-opus-5",
    ]
  ) {
    for (
      const input of [[unknown], [reasoning], [unknown, reasoning, unknown]]
    ) {
      assert.throws(
        () => received("responses", target, { input }),
        (error) =>
          error instanceof GatewayError && error.param === "input" &&
          error.status === 400,
      );
    }
    const { dropped } = received("responses", target, {
      input: [unknown, { role: "user", content: "Hi" }],
    });
    assert.deepEqual(dropped, ["input"]);
  }
});

const SCHEMA = { type: "object", properties: { path: { type: "string" } } };

/** What Cursor sends to /chat/completions for Claude (https://github.com/automazeio/vibeproxy/issues/411). */
const BLOCKS: JsonObject = {
  messages: [
    { role: "user", content: [{ type: "text", text: "Read a.txt" }] },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I read." },
        {
          type: "tool_use",
          id: "toolu_vrtx_01FF",
          name: "read",
          input: { path: "a.txt" },
        },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_vrtx_01FF",
          content: [{ type: "text", text: "Gone" }],
          is_error: true,
        },
        { type: "text", text: "Go on" },
        {
          type: "image",
          source: {
            type: "base64",
            media_type: "image/png",
            data: "iVBORw0KGgo=",
          },
        },
      ],
    },
  ],
  tools: [{ name: "read", description: "Reads", input_schema: SCHEMA }],
  tool_choice: { type: "tool", name: "read" },
};

Deno.test("Claude gets the same request from Anthropic's tools and blocks in a Chat body as in a Messages body", () => {
  const claude = "messages anthropic claude-opus-4-8";
  const own = received("messages", claude, BLOCKS);
  const chat = received("chat", claude, { ...BLOCKS, max_tokens: 1000 });
  assert.deepEqual(chat.body, own.body);
  assert.deepEqual(chat.dropped, own.dropped);
});

Deno.test("other models get Anthropic's tools and blocks in a Chat body as functions, calls and results", () => {
  const { body } = received("chat", "chat custom m", BLOCKS);
  assert.deepEqual(valuesOf(body, "tool_call_id"), ["toolu_vrtx_01FF"]);
  assert.deepEqual(valuesOf(body, "arguments"), ['{"path":"a.txt"}']);
  const { body: openAi } = received("chat", "responses openai gpt-5.2", BLOCKS);
  assert.deepEqual(valuesOf(openAi, "call_id"), [
    "toolu_vrtx_01FF",
    "toolu_vrtx_01FF",
  ]);
});

/** Invalid blocks of Messages in a Chat body, with the field that the error names. */
const ODD_BLOCKS: readonly (readonly [block: JsonObject, field: string])[] = [
  [{ type: "tool_result", tool_use_id: "t", content: [5] }, ".content[0]"],
  [{ type: "tool_result", tool_use_id: "t", content: 5 }, ".content"],
  [{
    type: "tool_result",
    tool_use_id: "t",
    content: [{ type: "tool_use", id: "u", name: "f", input: {} }],
  }, ".content[0]"],
  [{ type: "tool_result", content: "Gone" }, ".tool_use_id"],
  [{ type: "tool_use", id: "u", input: {} }, ".name"],
  [{ type: "image", source: { type: "file", file_id: "f" } }, ".source"],
  [{ type: "image", source: { type: "base64", data: "aa" } }, ".source"],
];

Deno.test("an invalid Anthropic block in a Chat body is refused, and the error names its field", async (t) => {
  for (const [block, field] of ODD_BLOCKS) {
    await t.step(JSON.stringify(block), () => {
      const messages = [{ role: "user", content: [block] }];
      assert.throws(
        () => received("chat", "chat custom m", { messages }),
        (error) =>
          error instanceof GatewayError && error.kind === "invalid_request" &&
          error.param === `messages[0].content[0]${field}`,
      );
    });
  }
});

Deno.test("a Chat body may have tools without `function`, and tool choices as objects", () => {
  const read = (fields: JsonObject) =>
    received("chat", "messages anthropic claude-opus-4-8", fields).body;
  const nested = read({
    tools: [{
      type: "function",
      function: { name: "read", description: "Reads", parameters: SCHEMA },
    }],
    tool_choice: "required",
  });
  for (
    const tool of [
      {
        type: "function",
        name: "read",
        description: "Reads",
        parameters: SCHEMA,
      },
      { name: "read", description: "Reads", input_schema: SCHEMA },
      {
        type: "custom",
        name: "read",
        description: "Reads",
        input_schema: SCHEMA,
      },
      { function: { name: "read", description: "Reads", parameters: SCHEMA } },
    ]
  ) {
    assert.deepEqual(
      read({ tools: [tool], tool_choice: { type: "any" } }),
      nested,
    );
  }
  const { tools } = responsesInChatCodec.decodeRequest({
    model: "m",
    input: "Hi",
    tools: [{ name: "read", description: "Reads", input_schema: SCHEMA }],
  });
  assert.deepEqual(tools.map(({ kind }) => kind), ["function"]);
});

Deno.test("a tool block in a Chat body without its id, name or content is refused, and the error names the field", () => {
  for (
    const [role, block, field] of [
      ["assistant", { type: "tool_use", name: "f", input: {} }, "id"],
      ["assistant", { type: "tool_use", id: "i", name: "", input: {} }, "name"],
      ["user", { type: "tool_result", content: "x" }, "tool_use_id"],
      [
        "user",
        { type: "tool_result", tool_use_id: "i", content: 5 },
        "content",
      ],
    ] as const
  ) {
    assert.throws(
      () =>
        received("chat", "messages anthropic claude-opus-5", {
          messages: [{ role, content: [block] }],
        }),
      (error) =>
        error instanceof GatewayError &&
        error.param === `messages[0].content[0].${field}`,
    );
  }
});

/** Answers that end for a tool call, but have neither a call nor text. */
const PROMISES: readonly (readonly [Protocol, JsonObject])[] = [
  ...[undefined, null, []].flatMap((tool_calls) =>
    [null, ""].flatMap((content) =>
      ["tool_calls", "function_call", "tool_use"].map((
        finish_reason,
      ): [Protocol, JsonObject] => ["chat", {
        id: "c",
        model: "m",
        choices: [{
          index: 0,
          message: { role: "assistant", content, tool_calls } as JsonObject,
          finish_reason,
        }],
      }])
    )
  ),
  ["chat", {
    id: "c",
    model: "m",
    choices: [{
      index: 0,
      message: { role: "assistant", reasoning_content: "I must look." },
      finish_reason: "tool_calls",
    }],
  }],
  ...[
    [],
    [{ type: "text", text: "" }],
    [{ type: "thinking", thinking: "I must look.", signature: "" }],
  ].map((content): [Protocol, JsonObject] => ["messages", {
    id: "c",
    model: "m",
    content,
    stop_reason: "tool_use",
  }]),
];

Deno.test("an answer with the stop reason of a tool call, but without a call or text, fails as broken", () => {
  for (const [to, answer] of PROMISES) {
    for (const isStream of to === "chat" ? [false] : [false, true]) {
      const last = eventsOf(to, answer, isStream).at(-1);
      assert.ok(last?.type === "failure", JSON.stringify(answer));
      assert.equal(last.failure.kind, "broken");
      assert.match(last.failure.message, /neither a call nor text/);
    }
  }
});

Deno.test("an answer succeeds with the stop reason of a tool call and only text, or with a normal stop and no content", () => {
  for (
    const [finish_reason, content] of [["tool_calls", "Done."], ["stop", ""]]
  ) {
    const answer = {
      id: "c",
      model: "m",
      choices: [{ index: 0, message: { content }, finish_reason }],
    };
    const last = eventsOf("chat", answer as JsonObject, false).at(-1);
    assert.ok(last?.type === "end");
    assert.equal(last.stop.reason, "end");
  }
});
