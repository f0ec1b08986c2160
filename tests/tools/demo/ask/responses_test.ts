import assert from "node:assert/strict";
import {
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
} from "../../../../src/base/json.ts";
import { textOf } from "../../../support/upstream/strict_provider/ask.ts";
import { seal } from "../../../support/upstream/strict_provider/seal.ts";
import { outputTextOf } from "../../../support/sdk/responses_fold.ts";
import { ask, askBoth } from "../harness.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

const HELLO = { role: "user", content: "Hello" };

const CALL = {
  type: "function_call",
  call_id: "call_1",
  name: "f",
  arguments: "{}",
};

const OUTPUT = {
  type: "function_call_output",
  call_id: "call_1",
  output: "sunny",
};

const [USER_YAML, CALL_YAML, OUTPUT_YAML] = [HELLO, CALL, OUTPUT]
  .map((part) => JSON.stringify(part));

/** Requests that a strict provider refuses, with its error. */
const REFUSALS = yamlTable(`
no input: { input: <absent> } → input: Missing required parameter: 'input'.
an unknown role: { input: [{ role: tool, content: x }] } → input[0]: Invalid value: 'tool'.
  Supported values are: 'assistant', 'system', 'developer', and 'user'.
a field of the Chat protocol: { messages: [${USER_YAML}] } → messages: Unknown parameter:
  'messages'.
a field of the Messages protocol: { thinking: { type: adaptive } } →
  thinking: Unknown parameter: 'thinking'.
an answer that is not kept: { previous_response_id: resp_1 } →
  previous_response_id: Previous response with id 'resp_1' not found.
a conversation that is not kept: { conversation: conv_1 } → conversation: Unsupported parameter:
  'conversation'.
an answer in the background: { background: true } → background: Unsupported parameter: 'background'.
a limit that is too small: { max_output_tokens: 15 } → max_output_tokens: Invalid
  'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead.
sealed reasoning of somebody else: { input: [${USER_YAML}, { type: reasoning,
  encrypted_content: gAAAA }] } → input[1].encrypted_content: The encrypted content could not be
  verified. Reason: Encrypted content could not be decrypted or parsed.
a call without an output: { input: [${USER_YAML}, ${CALL_YAML}, ${USER_YAML}] } →
  input: No tool output found for function call call_1.
an output without a call: { input: [${USER_YAML}, ${OUTPUT_YAML}] } →
  input: No tool call found for function call output with call_id call_1.
a tool without a name: { tools: [{ type: function }] } → tools[0].name: Missing required parameter:
  'tools[0].name'.
`);

Deno.test("a strict provider rejects Responses with 400 and names the parameter", (t) =>
  steps(t, REFUSALS, async ([, fields, refusal]) => {
    const { status, answer } = await ask("C", "/v1/responses", {
      model: "demo-c",
      input: [HELLO],
      ...fields,
    });
    const error = objectOf(answer.error);
    assert.equal(status, 400);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(`${error.param}: ${error.message}`, refusal);
  }));

/** Returns the answer to a Responses request with `fields`. */
async function answerTo(
  fields: JsonObject,
  asking: typeof askBoth = askBoth,
): Promise<JsonObject> {
  const { status, answer } = await asking("C", "/v1/responses", {
    model: "demo-c",
    input: [HELLO],
    ...fields,
  });
  assert.equal(status, 200);
  return answer;
}

Deno.test("responses read the settings of a request", async (t) => {
  await t.step("instructions and every role", async () => {
    const answer = await answerTo({
      instructions: "Be brief",
      input: [
        { role: "system", content: "It rains" },
        { role: "developer", content: [{ type: "input_text", text: "x" }] },
        { role: "assistant", content: [{ type: "output_text", text: "y" }] },
        {
          role: "user",
          content: [
            { type: "input_image", image_url: "https://example.com/a" },
            { type: "input_text", text: "What is this?" },
          ],
        },
      ],
    });
    assert.match(outputTextOf(answer), /"What is this\?"/);
    assert.equal(answer.instructions, "Be brief");
  });

  await t.step("an output that does not follow its call", async () => {
    const answer = await answerTo({
      input: [
        HELLO,
        { type: "reasoning", summary: [], encrypted_content: seal("Hm") },
        { type: "reasoning", summary: [], encrypted_content: null },
        CALL,
        { role: "developer", content: "Go on" },
        OUTPUT,
      ],
      // The demo opens no sealed reasoning, so it counts fewer tokens.
    }, ask);
    assert.match(outputTextOf(answer), /^The tool f returned: sunny\./);
  });

  await t.step("the output of a custom tool, as parts", async () => {
    const answer = await answerTo({
      input: [
        HELLO,
        { type: "custom_tool_call", call_id: "c", name: "exec", input: "1" },
        {
          type: "custom_tool_call_output",
          call_id: "c",
          output: [{ type: "input_text", text: "done" }],
        },
      ],
    });
    assert.match(outputTextOf(answer), /^The tool exec returned: done\./);
  });

  await t.step("an effort of none switches reasoning off", async () => {
    const answer = await answerTo({
      model: "demo-c-think",
      reasoning: { effort: "none", summary: "auto" },
    });
    assert.deepEqual(objectsOf(answer.output).map((item) => item.type), [
      "message",
    ]);
  });

  await t.step("a schema for the answer", async () => {
    const schema = { type: "object", properties: { city: {} } };
    const format = { type: "json_schema", name: "place", schema };
    const answer = await answerTo({ text: { format } });
    assert.equal(outputTextOf(answer), '{"city":"demo"}');
    assert.deepEqual(answer.text, { format });
  });

  await t.step("an answer in any JSON", async () => {
    const answer = await answerTo({
      text: { format: { type: "json_object" } },
    });
    assert.match(outputTextOf(answer), /^\{"answer":"You said/);
  });
});

/** Returns the names of the called tools, from `tools` and an `additional_tools` item. */
async function calledFor(
  tool_choice: JsonValue,
  content = "Hello",
): Promise<string[]> {
  const answer = await answerTo({
    input: [
      {
        type: "additional_tools",
        role: "developer",
        tools: [{
          type: "namespace",
          name: "functions",
          tools: [{ type: "custom", name: "h" }],
        }],
      },
      { role: "user", content },
    ],
    tools: [
      { type: "function", name: "f" },
      { type: "function", name: "g" },
      { type: "web_search" },
    ],
    tool_choice,
  });
  return objectsOf(answer.output).flatMap((item) =>
    item.call_id === undefined ? [] : [textOf(item.name)]
  );
}

Deno.test("responses obey tool_choice", async (t) => {
  const allowed = (mode: string) => ({
    type: "allowed_tools",
    mode,
    tools: [{ type: "function", name: "g" }],
  });
  await t.step("auto", async () => {
    assert.deepEqual(await calledFor("auto"), []);
    assert.deepEqual(await calledFor("auto", "run the tools f and h"), [
      "f",
      "h",
    ]);
  });
  await t.step("none", async () => {
    assert.deepEqual(await calledFor("none", "call f"), []);
  });
  await t.step("required", async () => {
    assert.deepEqual(await calledFor("required"), ["f"]);
  });
  await t.step("one tool", async () => {
    const choice = { type: "custom", name: "h" };
    assert.deepEqual(await calledFor(choice), ["h"]);
  });
  await t.step("some tools allowed", async () => {
    assert.deepEqual(await calledFor(allowed("auto"), "call f"), []);
    assert.deepEqual(await calledFor(allowed("required")), ["g"]);
  });
});

Deno.test("a call of a grouped tool names the group", async () => {
  const answer = await answerTo({
    tools: [{
      type: "namespace",
      name: "clock",
      tools: [{ type: "function", name: "now" }],
    }],
    tool_choice: "required",
  });
  assert.equal(objectsOf(answer.output)[0]?.namespace, "clock");
});

Deno.test("compact gives the user's messages and one sealed item", async () => {
  const { answer } = await ask("C", "/v1/responses/compact", {
    model: "demo-c",
    input: [HELLO, { role: "assistant", content: "Hi" }],
  });
  const output = objectsOf(answer.output);
  assert.equal(answer.object, "response.compaction");
  assert.deepEqual(output.map((item) => item.type), ["message", "compaction"]);
  assert.deepEqual(output[0]?.content, [{ type: "input_text", text: "Hello" }]);
  assert(Number(objectOf(answer.usage).total_tokens) > 0);
});

Deno.test("a compaction trigger is answered with exactly one compaction item", async () => {
  const answer = await answerTo({
    input: [HELLO, { type: "compaction_trigger" }],
  });
  assert.deepEqual(objectsOf(answer.output).map((item) => item.type), [
    "compaction",
  ]);
});
