import assert from "node:assert/strict";
import {
  type JsonObject,
  objectOf,
  objectsOf,
} from "../../../src/base/json.ts";
import { foldChat } from "../../support/sdk/chat_fold.ts";
import { foldMessages } from "../../support/sdk/messages_fold.ts";
import { foldResponses } from "../../support/sdk/responses_fold.ts";
import { ask, askBoth, askStream, createFixedDemo, gistOf } from "./harness.ts";
import { steps } from "../../support/steps.ts";
import { yamlObject } from "../../support/yaml.ts";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
};

const ASK_TWICE = "Use get_weather and get_time, please.";

const CHAT_TOOLS = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  function: { name, parameters: SCHEMA },
}));

const MESSAGES_TOOLS = ["get_weather", "get_time"].map((name) => ({
  name,
  input_schema: SCHEMA,
}));

const RESPONSES_TOOLS = [
  { type: "function", name: "get_weather", parameters: SCHEMA },
  {
    type: "namespace",
    name: "clock",
    tools: [{ type: "function", name: "get_time", parameters: SCHEMA }],
  },
];

const HELLO = [{ role: "user", content: "Hello there, ünïcode 🙂" }];

/** The prompts and tools of the requests, in YAML that contains JSON. */
const [hello, twice, chatTools, messagesTools, responsesTools] = [
  HELLO,
  [{ role: "user", content: ASK_TWICE }],
  CHAT_TOOLS,
  MESSAGES_TOOLS,
  RESPONSES_TOOLS,
].map((value) => JSON.stringify(value));

const CHAT_CASES = yamlObject(`
a text: { model: demo-a, messages: ${hello} }
reasoning, then a text: { model: demo-a-think, messages: ${hello} }
two tool calls: { model: demo-a, messages: ${twice}, tools: ${chatTools} }
reasoning, then tool calls: { model: demo-a, reasoning_effort: low, messages: ${twice}, tools: ${chatTools} }
a custom tool call: { model: demo-a, messages: [{ role: user, content: use the tool }], tools: [{ type: custom, custom: { name: exec } }] }
an answer that is cut: { model: demo-a, max_tokens: 7, messages: ${hello} }
an answer that is cut before its first word: { model: demo-a-think, max_tokens: 2, messages: ${hello} }
`);

const MESSAGES_CASES = yamlObject(`
a text: { model: demo-b, max_tokens: 500, messages: ${hello} }
thinking, then a text: { model: demo-b, max_tokens: 4000, thinking: { type: enabled, budget_tokens: 1024 }, messages: ${hello} }
thinking that is omitted: { model: demo-b, max_tokens: 4000, thinking: { type: adaptive, display: omitted }, messages: ${hello} }
two tool calls: { model: demo-b-think, max_tokens: 500, messages: ${twice}, tools: ${messagesTools} }
a tool without arguments: { model: demo-b, max_tokens: 500, messages: [{ role: user, content: call the tool }], tools: [{ name: now, input_schema: { type: object } }] }
a stop sequence: { model: demo-b, max_tokens: 500, stop_sequences: [there], messages: ${hello} }
an answer that is cut: { model: demo-b, max_tokens: 7, messages: ${hello} }
`);

const RESPONSES_CASES = yamlObject(`
a text: { model: demo-c, input: Hello there }
a reasoning summary, then a text: { model: demo-c, input: ${hello}, reasoning: { effort: low, summary: auto }, include: [reasoning.encrypted_content] }
reasoning in secret: { model: demo-c, input: ${hello}, reasoning: { effort: high } }
two tool calls, one of a namespace: { model: demo-c-think, input: "${ASK_TWICE}", tools: ${responsesTools} }
a custom tool call: { model: demo-c, input: Run apply_patch, tools: [{ type: custom, name: apply_patch, format: { type: grammar, syntax: lark, definition: "start: /.+/" } }] }
an answer that is cut: { model: demo-c, input: ${hello}, max_output_tokens: 16 }
a compaction: { model: demo-c, input: ${
  JSON.stringify([...HELLO, { type: "compaction_trigger" }])
} }
`);

const CODECS_UNDER_TEST = [
  {
    protocol: "chat",
    family: "A",
    path: "/v1/chat/completions",
    cases: CHAT_CASES,
    fold: foldChat,
    streaming: { stream_options: { include_usage: true } },
  },
  {
    protocol: "messages",
    family: "B",
    path: "/v1/messages",
    cases: MESSAGES_CASES,
    fold: foldMessages,
    streaming: {},
  },
  {
    protocol: "responses",
    family: "C",
    path: "/v1/responses",
    cases: RESPONSES_CASES,
    fold: foldResponses,
    streaming: {},
  },
] as const;

for (
  const { protocol, family, path, cases, fold, streaming } of CODECS_UNDER_TEST
) {
  Deno.test(`a ${protocol} stream keeps the grammar and folds into the JSON answer`, (t) =>
    steps(t, Object.entries(cases), async ([, given]) => {
      const body = objectOf(given);
      const text = await askStream(family, path, { ...body, ...streaming });
      const { status, answer } = await ask(family, path, body);
      assert.equal(status, 200);
      assert.deepEqual(fold(text), answer);
    }));

  Deno.test(`the demo answers ${protocol} as the strict provider does, streaming or not`, (t) =>
    steps(t, Object.entries(cases), async ([, given]) => {
      const body = objectOf(given);
      const { answer } = await askBoth(family, path, body);
      const text = await askStream(
        family,
        path,
        { ...body, ...streaming },
        createFixedDemo(),
      );
      assert.deepEqual(gistOf(fold(text), protocol), gistOf(answer, protocol));
    }));
}

const PROGRAM_CODEC_HELLO = [{ role: "user", content: "Hello" }];

/** Sends `fields` to the demo in the family's protocol. */
async function askDemo(
  family: "A" | "B" | "C",
  fields: JsonObject,
  path = PATHS[family],
) {
  const model = `demo-${family.toLowerCase()}`;
  return await ask(family, path, { model, ...fields }, createFixedDemo());
}

const PATHS = {
  A: "/v1/chat/completions",
  B: "/v1/messages",
  C: "/v1/responses",
};

Deno.test("the demo rejects what it cannot answer, and names the field", async (t) => {
  const refused: readonly (readonly ["A" | "B" | "C", JsonObject, RegExp])[] = [
    ["A", {}, /messages/],
    ["A", { messages: [] }, /messages/],
    ["A", { messages: [{ role: "robot", content: "Hi" }] }, /role/],
    ["B", { max_tokens: 9 }, /messages/],
    ["B", { messages: PROGRAM_CODEC_HELLO }, /max_tokens/],
    ["C", {}, /input/],
    [
      "C",
      { input: "Hi", previous_response_id: "resp_1" },
      /previous_response_id/,
    ],
    ["C", { input: "Hi", background: true }, /background/],
  ];
  for (const [family, fields, message] of refused) {
    await t.step(`${family} ${JSON.stringify(fields)}`, async () => {
      const { status, answer } = await askDemo(family, fields);
      assert.equal(status, 400);
      assert.match(String(objectOf(answer.error).message), message);
    });
  }
});

Deno.test("the demo rejects a thread with the error after which an SDK sends the whole conversation", async () => {
  const { status, answer } = await askDemo("B", {
    max_tokens: 500,
    messages: PROGRAM_CODEC_HELLO,
    thread: { type: "create" },
  });
  assert.equal(status, 400);
  assert.deepEqual(objectOf(answer.error).details, {
    error_code: "thread_unsupported_request",
  });
});

Deno.test("the demo counts the tokens that its answer reports", async () => {
  const counted = await askDemo(
    "B",
    { messages: PROGRAM_CODEC_HELLO },
    "/v1/messages/count_tokens",
  );
  const { answer } = await askDemo("B", {
    messages: PROGRAM_CODEC_HELLO,
    max_tokens: 9,
  });
  assert.deepEqual(counted.answer, {
    input_tokens: objectOf(answer.usage).input_tokens,
  });
});

Deno.test("the demo completes a prompt of a legacy completion", async () => {
  const { answer } = await askDemo("A", { prompt: "Hello" }, "/v1/completions");
  assert.match(
    String(objectsOf(answer.choices)[0]?.text),
    /^You said: "Hello"/,
  );
  assert.equal((await askDemo("A", {}, "/v1/completions")).status, 400);
});

Deno.test("the demo compacts a conversation to the user's messages and one sealed item, and accepts the result", async () => {
  const { answer } = await askDemo("C", {
    input: [...PROGRAM_CODEC_HELLO, { role: "assistant", content: "Hi" }],
  }, "/v1/responses/compact");
  const output = objectsOf(answer.output);
  assert.equal(answer.object, "response.compaction");
  assert.deepEqual(output.map(({ type }) => type), ["message", "compaction"]);
  assert.deepEqual(output[0]?.content, [{ type: "input_text", text: "Hello" }]);
  assert.ok(Number(objectOf(answer.usage).total_tokens) > 0);
  const next = await askDemo("C", {
    input: [...output, { role: "user", content: "Go on" }],
  });
  assert.match(JSON.stringify(next.answer.output), /You said: .*Go on/);
});
