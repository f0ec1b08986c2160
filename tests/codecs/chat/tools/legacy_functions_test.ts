import assert from "node:assert/strict";
import { runStage } from "../../../../src/base/stage.ts";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import type { Answer } from "../../../../src/codecs/canonical/answer/answer.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { unfoldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { answerContext } from "../../../contract/codec_contract.ts";
import {
  received,
  userRequest,
} from "../../../support/dialects/upstream_request.ts";

// The deprecated `functions` and `function_call`. Their answers have a `function_call` instead of
// tool calls.

const PARAMETERS = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

const FUNCTIONS = [
  { name: "weather", description: "Reports it", parameters: PARAMETERS },
  { name: "news" },
];

Deno.test("legacy functions become tools that are called one at a time", () => {
  const asked = { functions: FUNCTIONS, function_call: "auto" };
  const messages = received("chat", "messages anthropic claude-opus-5", asked);
  const responses = received("chat", "responses openai gpt-5.2", asked);
  assert.deepEqual(messages.body.tools, [
    { name: "weather", description: "Reports it", input_schema: PARAMETERS },
    { name: "news", input_schema: { type: "object", properties: {} } },
  ]);
  assert.deepEqual(messages.body.tool_choice, {
    type: "auto",
    disable_parallel_tool_use: true,
  });
  assert.deepEqual(responses.body.tools, [
    {
      type: "function",
      name: "weather",
      description: "Reports it",
      parameters: PARAMETERS,
      strict: false,
    },
    {
      type: "function",
      name: "news",
      parameters: { type: "object", properties: {} },
      strict: false,
    },
  ]);
  assert.equal(responses.body.parallel_tool_calls, false);
  assert.deepEqual(messages.dropped, []);
  assert.deepEqual(responses.dropped, []);
});

Deno.test("a request's function_call becomes the tool choice", () => {
  const cases: [JsonObject[string], JsonObject[string]][] = [
    ["none", "none"],
    ["auto", "auto"],
    [{ name: "news" }, { type: "function", name: "news" }],
  ];
  for (const [function_call, expected] of cases) {
    const { body } = received("chat", "responses openai gpt-5.2", {
      functions: FUNCTIONS,
      function_call,
    });
    assert.deepEqual(body.tool_choice, expected);
  }
});

Deno.test("legacy calls and results of a history get matching ids", () => {
  const { body } = received("chat", "responses openai gpt-5.2", {
    functions: FUNCTIONS,
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: null,
        function_call: { name: "news", arguments: "{}" },
      },
      { role: "function", name: "news", content: "None" },
    ],
  });
  assert.deepEqual(Array.isArray(body.input) && body.input.slice(1), [
    {
      type: "function_call",
      call_id: "function_news",
      name: "news",
      arguments: "{}",
    },
    { type: "function_call_output", call_id: "function_news", output: "None" },
  ]);
});

const ANSWER: Answer = {
  id: "1",
  model: "m",
  blocks: [{
    kind: "function_call",
    id: "call_1",
    name: "weather",
    arguments: '{"city":"Bonn"}',
  }],
  stop: { reason: "tool_calls" },
};

function contextFor(fields: JsonObject) {
  const request = CODECS.chat.decodeRequest({
    model: "m",
    ...userRequest("chat", fields),
  });
  const dropped: string[] = [];
  const drop = (part: string) => {
    dropped.push(part);
  };
  return { context: { ...answerContext(request), drop }, dropped };
}

function streamed(answer: Answer, fields: JsonObject) {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  const { context, dropped } = contextFor(fields);
  const frames = runStage(CODECS.chat.createStreamEncoder(context), events);
  const choices = frames.map(({ data }) => data).filter((data) =>
    data !== "[DONE]"
  ).map((data) => JSON.parse(data).choices[0]);
  return { choices, dropped };
}

Deno.test("a caller of legacy functions gets a function_call, in JSON", () => {
  const { context } = contextFor({ functions: FUNCTIONS });
  assert.deepEqual(
    JSON.parse(JSON.stringify(CODECS.chat.encodeAnswer(ANSWER, context)))
      .choices[0],
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        refusal: null,
        function_call: { name: "weather", arguments: '{"city":"Bonn"}' },
      },
      logprobs: null,
      finish_reason: "function_call",
    },
  );
});

Deno.test("a caller of legacy functions gets a function_call, in a stream", () => {
  const { choices } = streamed(ANSWER, { functions: FUNCTIONS });
  assert.deepEqual(choices.slice(1).map(({ delta }) => delta), [
    { function_call: { name: "weather", arguments: "" } },
    { function_call: { arguments: '{"city":"Bonn"}' } },
    {},
  ]);
  assert.equal(choices.at(-1).finish_reason, "function_call");
});

Deno.test("a caller of legacy functions gets the first call, and further calls are reported as dropped", () => {
  const [block] = ANSWER.blocks;
  assert.ok(block?.kind === "function_call");
  const two: Answer = {
    ...ANSWER,
    blocks: [block, { ...block, id: "call_2", name: "news", arguments: "" }],
  };
  const { context, dropped } = contextFor({ functions: FUNCTIONS });
  const whole = JSON.stringify(CODECS.chat.encodeAnswer(two, context));
  assert.doesNotMatch(whole, /news/);
  assert.deepEqual(dropped, ["tool_calls"]);
  const stream = streamed(two, { functions: FUNCTIONS });
  assert.doesNotMatch(JSON.stringify(stream.choices), /news/);
  assert.deepEqual(stream.dropped, ["tool_calls"]);
});

Deno.test("a caller of tools gets tool_calls", () => {
  const tools = [{ type: "function", function: { name: "weather" } }];
  const { context } = contextFor({ tools });
  const whole = JSON.stringify(CODECS.chat.encodeAnswer(ANSWER, context));
  assert.match(whole, /"tool_calls":\[\{"id":"call_1"/);
  assert.match(whole, /"finish_reason":"tool_calls"/);
  assert.doesNotMatch(whole, /"function_call"/);
  const { choices } = streamed(ANSWER, { tools });
  assert.equal(choices.at(-1).finish_reason, "tool_calls");
});

Deno.test("web_search_options become a tool for OpenAI, and are refused for other providers", () => {
  const place = { country: "DE", city: "Bonn" };
  const asked = {
    web_search_options: {
      search_context_size: "high",
      user_location: { type: "approximate", approximate: place },
    },
  };
  const { body, dropped } = received("chat", "responses openai gpt-5.2", asked);
  assert.deepEqual(body.tools, [{
    type: "web_search",
    search_context_size: "high",
    user_location: { type: "approximate", ...place },
  }]);
  assert.deepEqual(dropped, []);
  const plain = received("chat", "responses codex gpt-5.5", {
    web_search_options: {},
  });
  assert.deepEqual(plain.body.tools, [{ type: "web_search" }]);
  for (
    const target of [
      "messages anthropic claude-opus-5",
      "responses custom m",
      "chat custom m",
    ]
  ) {
    assert.throws(
      () => received("chat", target, asked),
      /Cannot pass `web_search_options` on/,
    );
  }
  const own = received("chat", "chat openai gpt-4o-search-preview", asked);
  assert.deepEqual(own.body.web_search_options, asked.web_search_options);
});

Deno.test("legacy functions beside tools become further tools, and the answer has tool_calls", () => {
  const tool = (name: string) => ({
    type: "function",
    function: { name, parameters: PARAMETERS },
  });
  const fields = {
    functions: FUNCTIONS,
    tools: [tool("weather"), tool("stocks")],
    function_call: { name: "news" },
    parallel_tool_calls: true,
  };
  const { body, dropped } = received(
    "chat",
    "messages anthropic claude-sonnet-4-6",
    fields,
  );
  assert.ok(Array.isArray(body.tools));
  assert.deepEqual(
    body.tools.map((one) => isJsonObject(one) && one.name),
    ["weather", "stocks", "news"],
  );
  assert.deepEqual(body.tool_choice, {
    type: "tool",
    name: "news",
    disable_parallel_tool_use: false,
  });
  assert.deepEqual(dropped, []);
  const { context } = contextFor(fields);
  const { choices } = CODECS.chat.encodeAnswer(ANSWER, context);
  assert.match(JSON.stringify(choices), /"tool_calls":\[\{"id":"call_1"/);
});
