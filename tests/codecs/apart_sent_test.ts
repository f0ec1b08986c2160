import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";
import { received, userRequest } from "../support/dialects/upstream_request.ts";
import { fromModel, fromUser, textPart } from "../support/wire/messages.ts";

// Blocks of another protocol that become text are separated from the texts beside them. Otherwise a model or caller
// would read the end of one text and the beginning of the next as one word.

function chatText(from: Protocol, body: JsonObject, service: string): string {
  const { body: sent } = received(from, `chat ${service} some-model`, body);
  assert.ok(Array.isArray(sent.messages));
  const own = sent.messages.filter(isJsonObject).filter(({ role }) =>
    role === "assistant"
  );
  return own.map(({ content }) =>
    typeof content === "string" ? content : JSON.stringify(content)
  ).join("\n");
}

/**
 * Blocks of an earlier answer that only Messages has, and the end of their text in other protocols.
 */
const MESSAGES_BLOCKS: readonly (readonly [JsonObject, string])[] = [
  [
    {
      type: "bash_code_execution_tool_result",
      tool_use_id: "srvtoolu_1",
      content: {
        type: "bash_code_execution_result",
        stdout: "4",
        stderr: "",
        return_code: 0,
      },
    },
    "return_code: 0",
  ],
  [{ type: "compaction", content: "THE SUMMARY" }, "THE SUMMARY"],
  [
    {
      type: "server_tool_use",
      id: "srvtoolu_1",
      name: "web_search",
      input: { query: "q" },
    },
    '{"query":"q"}]',
  ],
  [{ type: "a_new_block", content: "SOMETHING NEW" }, "SOMETHING NEW"],
];

Deno.test("a block that only Messages has stays separate from the texts around it in an earlier answer", () => {
  for (const [block, end] of MESSAGES_BLOCKS) {
    const body = {
      messages: [
        fromUser("Go"),
        fromModel([textPart("BEFORE"), block, textPart("AFTER")]),
        fromUser("Go on"),
      ],
    };
    for (const service of ["custom", "openai"]) {
      const text = chatText("messages", body, service);
      assert.match(text, /^BEFORE\n\n\[/, text);
      assert.ok(text.endsWith(`${end}\n\nAFTER`), text);
    }
    const { body: sent } = received(
      "messages",
      "responses openai gpt-5.2",
      body,
    );
    assert.ok(Array.isArray(sent.input));
    const own = sent.input.filter(isJsonObject).filter(({ role }) =>
      role === "assistant"
    );
    // Servers join the parts of one message without a separator.
    assert.deepEqual(
      own.map(({ content }) => Array.isArray(content) ? content.length : 0),
      [1, 1, 1],
    );
  }
});

Deno.test("an item that only Responses has stays separate from the texts around it in an earlier answer", () => {
  const message = (text: string) => ({
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text }],
  });
  const call = {
    type: "mcp_call",
    id: "mcp_1",
    server_label: "s",
    name: "add",
    arguments: "{}",
    output: "return_code: 0",
  };
  const body = {
    input: [
      fromUser("Go"),
      message("BEFORE"),
      call,
      message("AFTER"),
      fromUser("Go on"),
    ],
  };
  for (const service of ["custom", "openai"]) {
    assert.equal(
      chatText("responses", body, service),
      "BEFORE\n\n[add({}) returned: return_code: 0]\n\nAFTER",
    );
  }
});

Deno.test("consecutive texts of an earlier answer are joined without a break", () => {
  const body = {
    messages: [
      fromUser("Go"),
      fromModel([textPart("The sky is "), textPart("blue"), textPart(".")]),
      fromUser("Go on"),
    ],
  };
  assert.equal(chatText("messages", body, "custom"), "The sky is blue.");
});

Deno.test("a refusal of an earlier answer is a paragraph after its text", () => {
  const body = {
    input: [
      fromUser("Go"),
      {
        type: "message",
        role: "assistant",
        content: [
          { type: "output_text", text: "So far." },
          { type: "refusal", refusal: "No more." },
        ],
      },
      fromUser("Go on"),
    ],
  };
  assert.equal(chatText("responses", body, "custom"), "So far.\n\nNo more.");
});

Deno.test("texts around the blocks of a server tool stay separate for callers of other protocols", () => {
  const answer = CODECS.messages.decodeAnswer({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [
      textPart("I look."),
      ...MESSAGES_BLOCKS.map(([block]) => block),
      textPart("It is 4."),
    ],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }, counterIds());
  const chat = CODECS.chat.decodeRequest(userRequest("chat", { model: "m" }));
  const message = CODECS.chat.encodeAnswer(answer, answerContext(chat));
  assert.match(JSON.stringify(message), /"I look\.\\n\\nIt is 4\."/);
  const responses = CODECS.responses.decodeRequest(
    userRequest("responses", { model: "m" }),
  );
  const object = CODECS.responses.encodeAnswer(
    answer,
    answerContext(responses),
  );
  assert.ok(Array.isArray(object.output));
  assert.deepEqual(
    object.output.filter(isJsonObject).map(({ content }) =>
      Array.isArray(content) ? content.length : 0
    ),
    [1, 1],
  );
});
