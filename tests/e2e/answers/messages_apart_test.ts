import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import { JSON_HEADERS, SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask } from "../../support/wire/ask.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { pairsFile } from "../../support/dialects/pairs.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

// Responses models send several messages in one answer: commentary on the work, then the answer. The next request must
// name the phase of each (https://github.com/openai/codex, `phase`).

const OUTPUT: JsonObject[] = [
  message("m_1", "commentary", "I look."),
  {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "look",
    arguments: "{}",
    status: "completed",
  },
  message("m_2", "commentary", "I wait."),
];

function message(id: string, phase: string, text: string): JsonObject {
  return {
    type: "message",
    id,
    role: "assistant",
    status: "completed",
    phase,
    content: [{ type: "output_text", text, annotations: [] }],
  };
}

function answer(isStream: boolean): Response {
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    model: "upstream",
    output: OUTPUT,
    usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
  };
  if (!isStream) {
    return new Response(JSON.stringify(response), { headers: JSON_HEADERS });
  }
  const events: JsonObject[] = [
    { type: "response.created", response: { ...response, output: [] } },
    ...OUTPUT.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response },
  ];
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join("");
  return new Response(text, { headers: SSE_HEADERS });
}

for (const isStream of [true, false]) {
  const how = isStream ? "streamed" : "whole";
  Deno.test(`a chat caller gets two messages as paragraphs, and the model gets them back as two messages, ${how}`, async () => {
    await using upstream = startUpstream(() => answer(isStream));
    await using gateway = await startGateway(pairsFile(upstream.url));
    const question = { role: "user", content: "Look" };
    const tools = [{ type: "function", function: { name: "look" } }];
    const body = { model: "model-c", stream: isStream, tools };
    const first = await gateway.call(
      "/v1/chat/completions",
      ask("chat", JSON.stringify({ ...body, messages: [question] })),
    );
    const text = await first.text();
    const said = contentOf(text);
    const [id = ""] = text.match(/(?<="id":")call_1[^"]*/) ?? [];
    assert.equal(said, "I look.\n\nI wait.");
    const second = await gateway.call(
      "/v1/chat/completions",
      ask(
        "chat",
        JSON.stringify({
          ...body,
          messages: [question, {
            role: "assistant",
            content: said,
            tool_calls: [{
              id,
              type: "function",
              function: { name: "look", arguments: "{}" },
            }],
          }, { role: "tool", tool_call_id: id, content: "seen" }],
        }),
      ),
    );
    await second.body?.cancel();
    await upstream.requests.next();
    const asked = parseJson((await upstream.requests.next()).text());
    const input = isJsonObject(asked) && Array.isArray(asked.input)
      ? asked.input.filter(isJsonObject)
      : [];
    assert.deepEqual(
      input.filter(({ role }) => role === "assistant").map((item) => [
        item.phase,
        JSON.stringify(item.content),
      ]),
      ["I look.", "I wait."].map((text) => [
        "commentary",
        JSON.stringify([{ type: "output_text", text }]),
      ]),
    );
  });

  Deno.test(`an empty summary of a conversation is a failure, ${how}`, async () => {
    await using upstream = startUpstream(() => emptyChat(isStream));
    await using gateway = await startGateway(pairsFile(upstream.url));
    const response = await gateway.call(
      "/v1/responses",
      ask(
        "responses",
        JSON.stringify({
          model: "model-a",
          stream: isStream,
          input: [{ role: "user", content: "Hi" }, {
            type: "compaction_trigger",
          }],
        }),
      ),
    );
    const text = await response.text();
    assert.doesNotMatch(text, /"type":"compaction"/);
    if (isStream) assert.match(text, /event: response\.failed/);
    else assert.equal(response.status, 502, text);
  });
}

/** Returns the text that a Chat caller reads. */
function contentOf(text: string): string {
  const bodies = text.includes("data: ")
    ? text.split("\n\n").map((frame) => parseJson(frame.slice(6)))
    : [parseJson(text)];
  return bodies.filter(isJsonObject).map(({ choices }) => {
    const [choice] = Array.isArray(choices) ? choices : [];
    if (!isJsonObject(choice)) return "";
    const said = choice.delta ?? choice.message;
    return isJsonObject(said) && typeof said.content === "string"
      ? said.content
      : "";
  }).join("");
}

/** Returns an empty answer. */
function emptyChat(isStream: boolean): Response {
  const head = { id: "c-1", created: 1_700_000_000, model: "m" };
  const said = { role: "assistant", content: " " };
  const choice = { index: 0, finish_reason: "stop" };
  if (!isStream) {
    return new Response(
      JSON.stringify({ ...head, choices: [{ ...choice, message: said }] }),
      { headers: JSON_HEADERS },
    );
  }
  const chunk = JSON.stringify({
    ...head,
    choices: [{ ...choice, delta: said }],
  });
  return new Response(`data: ${chunk}\n\ndata: [DONE]\n\n`, {
    headers: SSE_HEADERS,
  });
}
