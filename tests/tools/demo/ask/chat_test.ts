import assert from "node:assert/strict";
import {
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  parseJson,
} from "../../../../src/base/json.ts";
import { textOf } from "../../../support/upstream/strict_provider/ask.ts";
import { ask, askBoth } from "../harness.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

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

const [USER_YAML, CALL_YAML] = [HELLO, CALL]
  .map((part) => JSON.stringify(part));

/** Requests that a strict provider refuses, with its error. */
const REFUSALS = yamlTable(`
no messages: { messages: <absent> } → messages: Missing required parameter: 'messages'.
an empty list of messages: { messages: [] } → messages: Invalid 'messages': expected a list with at
  least one message.
messages that are no list: { messages: Hello } → messages: Invalid 'messages': expected a list with
  at least one message.
an unknown role: { messages: [${USER_YAML}, { role: robot, content: Hi }] } →
  messages[1].role: Invalid value: 'robot'. Supported values are: 'system', 'developer', 'user',
  'assistant', 'tool'.
a part of the Responses protocol: { messages: [{ role: user, content: [{ type: input_text,
  text: Hi }] }] } → messages[0].content: Invalid value: 'input_text'. Supported values are: 'text',
  'image_url', 'input_audio', 'file' and 'refusal'.
several choices: { n: 2 } → n: Invalid value for 'n': this model gives one choice, expected 1
a field of the Responses protocol: { max_output_tokens: 5 } →
  max_output_tokens: Unknown parameter: 'max_output_tokens'.
a field of the Messages protocol: { stop_sequences: [x] } → stop_sequences: Unknown parameter:
  'stop_sequences'.
a call without a result: { messages: [${USER_YAML}, ${CALL_YAML}, ${USER_YAML}] } →
  messages: An assistant message with 'tool_calls' must be followed by tool messages responding to
  each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1
a conversation that ends with a call: { messages: [${USER_YAML}, ${CALL_YAML}] } →
  messages: An assistant message with 'tool_calls' must be followed by tool messages responding to
  each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1
a result without a call: { messages: [${USER_YAML}, { role: tool, tool_call_id: x, content: "1" }] }
  → messages: Invalid parameter: messages with role 'tool' must be a response to a preceeding
  message with 'tool_calls'.
a tool without a name: { tools: [{ type: function, function: { name: "" } }] } →
  tools[0].function.name: Missing required parameter: 'tools[0].function.name'.
a tool with a name that is too long: { tools: [{ type: function, function: { name: f } },
  { type: function, function: { name: "${
  "x".repeat(65)
}" } }] } → tools[1].function.name: Invalid 'tools[1].function.name': string too long. Expected a
  string with maximum length 64, but got a string with length 65 instead.
a tool with other characters in its name: { tools: [{ type: function, function: { name: "a.b" } }] }
  → tools[0].function.name: Invalid 'tools[0].function.name': string does not match pattern.
  Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.
`);

Deno.test("a strict provider rejects Chat with 400 and names the parameter", (t) =>
  steps(t, REFUSALS, async ([, fields, refusal]) => {
    const { status, answer } = await ask("A", "/v1/chat/completions", {
      model: "demo-a",
      messages: [HELLO],
      ...fields,
    });
    const error = objectOf(answer.error);
    assert.equal(status, 400);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(`${error.param}: ${error.message}`, refusal);
  }));

Deno.test("completions reject a missing prompt", async () => {
  const { status, answer } = await ask("A", "/v1/completions", {
    model: "demo-a",
  });
  assert.equal(status, 400);
  assert.equal(objectOf(answer.error).param, "prompt");
});

/** Returns the only choice of the answer to a chat request with `fields`. */
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

  await t.step("an effort of none switches reasoning off", async () => {
    const { message } = await choiceOf({
      model: "demo-a-think",
      reasoning_effort: "none",
    });
    assert.equal(objectOf(message).reasoning_content, undefined);
  });

  await t.step("thinking switches reasoning on", async () => {
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
    assert.equal(objectOf(message).content, '{"city":"demo"}');
  });

  await t.step("an answer in any JSON", async () => {
    const { message } = await choiceOf({
      response_format: { type: "json_object" },
    });
    const json = objectOf(parseJson(textOf(objectOf(message).content)));
    assert.match(textOf(json.answer), /Hello/);
  });
});

/** Returns which of the tools `f` and `g` are called for a `tool_choice`. */
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
