import assert from "node:assert/strict";
import {
  type JsonObject,
  objectOf,
  objectsOf,
} from "../../../../src/base/json.ts";
import { textOf } from "../../../support/upstream/strict_provider/ask.ts";
import { seal } from "../../../support/upstream/strict_provider/seal.ts";
import { ask, askBoth } from "../harness.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

const HELLO = { role: "user", content: "Hello" };

const TOOL_USE = {
  role: "assistant",
  content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }],
};

const RESULT = { type: "tool_result", tool_use_id: "toolu_1", content: "1" };

const SPEECH = { type: "text", text: "Hello" };

const [USER_YAML, CALL_YAML, RESULT_YAML] = [HELLO, TOOL_USE, RESULT]
  .map((part) => JSON.stringify(part));

/** Requests that a strict provider refuses, with its error. */
const REFUSALS = yamlTable(`
no limit: { max_tokens: <absent> } → max_tokens: Field required
a limit of zero: { max_tokens: 0 } → max_tokens: Input should be greater than or equal to 1
no messages: { messages: <absent> } → messages: Field required
messages that are no list: { messages: Hi } → messages: Input should be a valid list
an empty list of messages: { messages: [] } → messages: at least one message is required
an unknown role: { messages: [{ role: tool, content: Hi }] } →
  messages.0.role: Input should be 'user', 'assistant' or 'system'
a message without content: { messages: [${USER_YAML}, { role: user }] } →
  messages.1.content: Field required
a user message with no blocks: { messages: [{ role: user, content: [] }] } →
  messages.0: all messages must have non-empty content except for the optional final assistant
  message
an empty text: { messages: [{ role: user, content: "" }] } → messages.0.content.0: text content
  blocks must be non-empty
a block of the Chat protocol: { messages: [{ role: user, content: [{ type: image_url }] }] } →
  messages.0.content.0: Input tag 'image_url' found using 'type' is unknown
arguments that are a text: { messages: [${USER_YAML}, { role: assistant, content: [{ type: tool_use,
  id: x, name: f, input: "{}" }] }] } → messages.1.content.0.tool_use.input: Input should be an
  object
a thinking block without a signature: { messages: [${USER_YAML}, { role: assistant,
  content: [{ type: thinking, thinking: Hm }] }] } → messages.1.content.0: Invalid \`signature\` in
  \`thinking\` block
a thinking block with the signature of another: { messages: [${USER_YAML}, { role: assistant,
  content: [{ type: thinking, thinking: Hm, signature: "${
  seal("Aha")
}" }] }] } → messages.1.content.0: Invalid \`signature\` in \`thinking\` block
a field of the Chat protocol: { stop: [x] } → stop: Extra inputs are not permitted
a field of the Responses protocol: { instructions: x } → instructions: Extra inputs are not
  permitted
a thinking budget that is too small: { thinking: { type: enabled, budget_tokens: 1000 } } →
  thinking.enabled.budget_tokens: Input should be greater than or equal to 1024
a thinking budget above the limit: { max_tokens: 2000, thinking: { type: enabled,
  budget_tokens: 2000 } } → \`max_tokens\` must be greater than \`thinking.budget_tokens\`
a call without a result: { messages: [${USER_YAML}, ${CALL_YAML}, ${USER_YAML}] } →
  messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: toolu_1.
  Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.
a result behind a text: { messages: [${USER_YAML}, ${CALL_YAML}, { role: user,
  content: [{ type: text, text: Hello }, ${RESULT_YAML}] }] } →
  messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: toolu_1.
  Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.
a result without a call: { messages: [{ role: user, content: [${RESULT_YAML}] }] } →
  messages: unexpected \`tool_use_id\` found in \`tool_result\` blocks: toolu_1. Each
  \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.
a tool with other characters in its name: { tools: [{ name: "a.b",
  input_schema: { type: object } }] } → tools.0.custom.name: String should match pattern
  '^[a-zA-Z0-9_-]{1,128}$'
a tool whose schema is no object: { tools: [{ name: f, input_schema: {} }] } →
  tools.0.custom.input_schema.type: Input should be 'object'
a tool_choice that is a text: { tool_choice: auto } → tool_choice: Input should be an object with
  the type 'auto', 'any', 'tool' or 'none'
`);

Deno.test("a strict provider rejects Messages with 400 and names the field", (t) =>
  steps(t, REFUSALS, async ([, fields, refusal]) => {
    const { status, answer } = await ask("B", "/v1/messages", {
      model: "demo-b",
      max_tokens: 500,
      messages: [HELLO],
      ...fields,
    });
    const error = objectOf(answer.error);
    assert.equal(status, 400);
    assert.equal(answer.type, "error");
    assert.equal(answer.request_id, "req_1");
    assert.equal(error.type, "invalid_request_error");
    assert.equal(error.message, refusal);
  }));

/** Returns the answer to a Messages request with `fields`. */
async function answerTo(fields: JsonObject): Promise<JsonObject> {
  const { status, answer } = await askBoth("B", "/v1/messages", {
    model: "demo-b",
    max_tokens: 500,
    messages: [HELLO],
    ...fields,
  });
  assert.equal(status, 200);
  return answer;
}

/** Returns the text of an answer's last block. */
function lastText(answer: JsonObject): string {
  return textOf(objectsOf(answer.content).at(-1)?.text);
}

Deno.test("messages read the settings of a request", async (t) => {
  await t.step("a result with text and an image, before a text", async () => {
    const answer = await answerTo({
      messages: [HELLO, TOOL_USE, {
        role: "user",
        content: [{
          ...RESULT,
          content: [{ type: "text", text: "sunny" }, {
            type: "image",
            source: { type: "url", url: "https://example.com/a" },
          }],
        }, SPEECH],
      }],
    });
    assert.match(lastText(answer), /^The tool f returned: sunny\./);
  });

  await t.step("a system message between the others", async () => {
    const answer = await answerTo({
      system: [{ type: "text", text: "Be brief" }],
      messages: [HELLO, { role: "system", content: "It rains" }],
    });
    assert.match(lastText(answer), /"Hello"/);
  });

  await t.step("thinking with and without its text", async () => {
    const answer = await answerTo({
      messages: [
        HELLO,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm", signature: seal("Hm") },
            { type: "thinking", thinking: "", signature: seal("Aha") },
            SPEECH,
          ],
        },
        { role: "user", content: "Go on" },
      ],
    });
    assert.match(lastText(answer), /"Go on"/);
  });

  await t.step("thinking switched off", async () => {
    const answer = await answerTo({
      model: "demo-b-think",
      thinking: { type: "disabled" },
    });
    assert.deepEqual(objectsOf(answer.content).map((block) => block.type), [
      "text",
    ]);
  });

  await t.step("a stop sequence, named in the answer", async () => {
    const answer = await answerTo({ stop_sequences: [" demo"] });
    assert.equal(answer.stop_reason, "stop_sequence");
    assert.equal(answer.stop_sequence, " demo");
    assert.equal(lastText(answer), 'You said: "Hello". This is');
  });

  await t.step("a schema for the answer", async () => {
    const answer = await answerTo({
      output_config: {
        format: { type: "json_schema", schema: { enum: [42] } },
      },
    });
    assert.equal(lastText(answer), "42");
  });
});

/** Returns which of the tools `f` and `g` are called for a `tool_choice`. */
async function calledFor(
  tool_choice: JsonObject,
  content = "Hello",
): Promise<string[]> {
  const input_schema = { type: "object" };
  const answer = await answerTo({
    messages: [{ role: "user", content }],
    tools: [
      { name: "f", input_schema },
      { type: "custom", name: "g", input_schema },
      { type: "web_search_20260318", name: "web_search" },
    ],
    tool_choice,
  });
  return objectsOf(answer.content).filter((block) => block.type === "tool_use")
    .map((block) => textOf(block.name));
}

Deno.test("messages obey tool_choice", async (t) => {
  await t.step("auto", async () => {
    assert.deepEqual(await calledFor({ type: "auto" }), []);
    assert.deepEqual(await calledFor({ type: "auto" }, "call the tools f, g"), [
      "f",
      "g",
    ]);
  });
  await t.step("no parallel use", async () => {
    const choice = { type: "auto", disable_parallel_tool_use: true };
    assert.deepEqual(await calledFor(choice, "call the tools f, g"), ["f"]);
  });
  await t.step("none", async () => {
    assert.deepEqual(await calledFor({ type: "none" }, "call f"), []);
  });
  await t.step("any", async () => {
    assert.deepEqual(await calledFor({ type: "any" }), ["f"]);
  });
  await t.step("one tool", async () => {
    assert.deepEqual(await calledFor({ type: "tool", name: "g" }), ["g"]);
  });
  await t.step(
    "a hosted tool, which the demo lacks",
    async () => {
      assert.deepEqual(await calledFor({ type: "auto" }, "use web_search"), []);
    },
  );
});

Deno.test("messages reject a thread with the error after which an SDK sends the whole conversation", async () => {
  const { status, answer } = await ask("B", "/v1/messages", {
    model: "demo-b",
    max_tokens: 500,
    messages: [HELLO],
    thread: { type: "create" },
  });
  assert.equal(status, 400);
  assert.deepEqual(objectOf(answer.error).details, {
    error_code: "thread_unsupported_request",
  });
});

Deno.test("count_tokens needs no limit and returns the count that messages report", async () => {
  const body = { model: "demo-b", messages: [HELLO] };
  const { answer } = await ask("B", "/v1/messages/count_tokens", body);
  const { usage } = await answerTo({});
  assert.deepEqual(answer, { input_tokens: objectOf(usage).input_tokens });
});
