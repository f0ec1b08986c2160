import assert from "node:assert/strict";
import {
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  parseJson,
} from "../../../src/core/json.ts";
import { textOf } from "../../../src/demo/ask.ts";
import { ask, askBoth } from "../harness.ts";
import { steps } from "../../support/steps.ts";

const HELLO = { role: "user", content: "Hello" };

const CALL = {
  role: "assistant",
  content: null,
  tool_calls: [{
    id: "call_1",
    type: "function",
    function: { name: "f", arguments: "{}" },
  }],
};

function tool(name: string): JsonObject {
  return { type: "function", function: { name } };
}

const REFUSALS: readonly (readonly [
  name: string,
  fields: JsonObject,
  param: string,
  message: RegExp,
])[] = [
  [
    "no messages",
    { messages: undefined },
    "messages",
    /Missing required parameter: 'messages'/,
  ],
  ["an empty list of messages", { messages: [] }, "messages", /at least one/],
  [
    "messages that are no list",
    { messages: "Hello" },
    "messages",
    /expected a list/,
  ],
  [
    "an unknown role",
    { messages: [HELLO, { role: "robot", content: "Hi" }] },
    "messages[1].role",
    /Invalid value: 'robot'/,
  ],
  [
    "a part of the Responses protocol",
    {
      messages: [{
        role: "user",
        content: [{ type: "input_text", text: "Hi" }],
      }],
    },
    "messages[0].content",
    /Invalid value: 'input_text'/,
  ],
  ["several choices", { n: 2 }, "n", /expected 1/],
  [
    "a field of the Responses protocol",
    { max_output_tokens: 5 },
    "max_output_tokens",
    /Unknown parameter/,
  ],
  [
    "a field of the Messages protocol",
    { stop_sequences: ["x"] },
    "stop_sequences",
    /Unknown parameter/,
  ],
  [
    "a call without a result",
    { messages: [HELLO, CALL, HELLO] },
    "messages",
    /did not have response messages: call_1/,
  ],
  [
    "a conversation that ends with a call",
    { messages: [HELLO, CALL] },
    "messages",
    /did not have response messages: call_1/,
  ],
  [
    "a result without a call",
    { messages: [HELLO, { role: "tool", tool_call_id: "x", content: "1" }] },
    "messages",
    /must be a response to a preceeding message/,
  ],
  [
    "a tool without a name",
    { tools: [tool("")] },
    "tools[0].function.name",
    /Missing required parameter/,
  ],
  [
    "a tool with a name that is too long",
    { tools: [tool("f"), tool("x".repeat(65))] },
    "tools[1].function.name",
    /maximum length 64/,
  ],
  [
    "a tool with other characters in its name",
    { tools: [tool("a.b")] },
    "tools[0].function.name",
    /does not match pattern/,
  ],
];

Deno.test("a strict provider rejects Chat with 400 and names the parameter", (t) =>
  steps(t, REFUSALS, async ([, fields, param, message]) => {
    const { status, answer } = await ask("A", "/v1/chat/completions", {
      model: "demo-a",
      messages: [HELLO],
      ...fields,
    });
    const error = objectOf(answer.error);
    assert.equal(status, 400);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(error.param, param);
    assert.match(textOf(error.message), message);
  }));

Deno.test("completions reject a missing prompt", async () => {
  const { status, answer } = await ask("A", "/v1/completions", {
    model: "demo-a",
  });
  assert.equal(status, 400);
  assert.equal(objectOf(answer.error).param, "prompt");
});

/** The only choice of the answer to a chat request with `fields`. */
async function choiceOf(fields: JsonObject): Promise<JsonObject> {
  const { answer } = await askBoth("A", "/v1/chat/completions", {
    model: "demo-a",
    messages: [HELLO],
    ...fields,
  });
  return objectOf(objectsOf(answer.choices)[0]);
}

Deno.test("chat reads the settings of a request", async (t) => {
  await t.step("text parts and images", async () => {
    const { message } = await choiceOf({
      messages: [{
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "https://example.com/a" } },
        ],
      }],
    });
    assert.match(textOf(objectOf(message).content), /"What is this\?"/);
  });

  await t.step("an effort of none keeps it from reasoning", async () => {
    const { message } = await choiceOf({
      model: "demo-a-think",
      reasoning_effort: "none",
    });
    assert.equal(objectOf(message).reasoning_content, undefined);
  });

  await t.step("thinking switched on makes it reason", async () => {
    const { message } = await choiceOf({ thinking: { type: "enabled" } });
    assert.match(textOf(objectOf(message).reasoning_content), /Hello/);
  });

  await t.step("one stop sequence as a text", async () => {
    const choice = await choiceOf({ stop: '"Hello"' });
    assert.equal(choice.finish_reason, "stop");
    assert.equal(objectOf(choice.message).content, "You said: ");
  });

  await t.step("several stop sequences", async () => {
    const choice = await choiceOf({ stop: ["family", "said"] });
    assert.equal(objectOf(choice.message).content, "You ");
  });

  await t.step("max_completion_tokens before max_tokens", async () => {
    const choice = await choiceOf({ max_completion_tokens: 2, max_tokens: 9 });
    assert.equal(choice.finish_reason, "length");
    assert.equal(objectOf(choice.message).content, "You said");
  });

  await t.step("a schema for the answer", async () => {
    const { message } = await choiceOf({
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "place",
          schema: { type: "object", properties: { city: {} } },
        },
      },
    });
    assert.equal(objectOf(message).content, '{"city":"Berlin"}');
  });

  await t.step("an answer in any JSON", async () => {
    const { message } = await choiceOf({
      response_format: { type: "json_object" },
    });
    const json = objectOf(parseJson(textOf(objectOf(message).content)));
    assert.match(textOf(json.answer), /Hello/);
  });
});

/** The names of the tools that are called for a `tool_choice`, of the two tools `f` and `g`. */
async function calledFor(
  tool_choice: JsonValue,
  content = "Hello",
): Promise<string[]> {
  const { message } = await choiceOf({
    messages: [{ role: "user", content }],
    tools: [tool("f"), tool("g")],
    tool_choice,
  });
  return objectsOf(objectOf(message).tool_calls)
    .map((call) => textOf(objectOf(call.function).name));
}

Deno.test("chat obeys tool_choice", async (t) => {
  const allowed = (mode: string) => ({
    type: "allowed_tools",
    allowed_tools: { mode, tools: [tool("g")] },
  });
  await t.step("auto", async () => {
    assert.deepEqual(await calledFor("auto"), []);
    assert.deepEqual(await calledFor("auto", "call f"), ["f"]);
  });
  await t.step("none", async () => {
    assert.deepEqual(await calledFor("none", "call f"), []);
  });
  await t.step("required", async () => {
    assert.deepEqual(await calledFor("required"), ["f"]);
    assert.deepEqual(await calledFor("required", "call g"), ["g"]);
  });
  await t.step("one tool", async () => {
    assert.deepEqual(await calledFor(tool("g")), ["g"]);
  });
  await t.step("some tools allowed", async () => {
    assert.deepEqual(await calledFor(allowed("auto"), "call f"), []);
    assert.deepEqual(await calledFor(allowed("required"), "call f"), ["g"]);
  });
});
