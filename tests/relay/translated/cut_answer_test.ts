import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/core/time/deadlines.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { CallerCodec } from "../../../src/protocols/canonical/codec.ts";
import { completionsCodec } from "../../../src/protocols/completions/mod.ts";
import { CODECS } from "../../../src/protocols/mod.ts";
import { createReasoningMemory } from "../../../src/relay/translated/reasoning_memory.ts";
import { translateAnswer } from "../../../src/relay/translated/translate_answer.ts";
import { createTranslation } from "../../../src/relay/translated/translation.ts";
import { counterIds } from "../../contract/codec_contract.ts";
import { openTestAttempt } from "../../support/gateway/attempt.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { translateRequest } from "../../support/translate_request.ts";

// Responses has no stop strings: the gateway ends the answer at a Chat caller's.

const MESSAGE = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "One STOP Two", annotations: [] }],
};

const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-5.2",
  status: "completed",
  output: [MESSAGE],
  usage: { input_tokens: 4, output_tokens: 7, total_tokens: 11 },
};

const STREAM = [
  { type: "response.created", response: { id: "resp_1", model: "gpt-5.2" } },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "message", id: "msg_1", role: "assistant", content: [] },
  },
  ...["One S", "TO", "P Two"].map((delta) => ({
    type: "response.output_text.delta",
    output_index: 0,
    content_index: 0,
    delta,
  })),
  { type: "response.output_item.done", output_index: 0, item: MESSAGE },
  { type: "response.completed", response: RESPONSE },
];

/**
 * Returns the answer for a caller with a stop string, from an upstream that streams it or sends it
 * whole.
 */
async function given(
  fields: JsonObject,
  upstream: "streamed" | "whole",
  codec: CallerCodec = CODECS.chat,
): Promise<Response> {
  const opened = await openTestAttempt({ idleMs: 100 });
  const asked = codec === CODECS.chat
    ? { messages: [{ role: "user", content: "Count" }] }
    : { prompt: "Count" };
  const translated = translateRequest({
    model: "m",
    stop: "STOP",
    ...asked,
    ...fields,
  }, {
    from: codec,
    to: CODECS.responses,
    target: {
      service: "openai",
      connectionId: "connection-1",
      model: "gpt-5.2",
      maxOutputTokens: undefined,
    },
    strict: false,
    streamOnly: upstream === "streamed",
    force: {},
    omit: [],
  });
  assert.deepEqual([...translated.dropped], ["stop"]);
  const answer = upstream === "streamed"
    ? new Response(sseBytes(...STREAM), {
      headers: { "content-type": "text/event-stream" },
    })
    : Response.json(RESPONSE);
  return await translateAnswer(answer, {
    attempt: {
      ...opened.attempt,
      operation: codec === CODECS.chat ? "chat_completions" : "completions",
    },
    from: codec,
    to: CODECS.responses,
    translated: {
      ...translated,
      stream: translated.body.stream === true,
      estimatedInputTokens: 1,
    },
    services: {
      reasoningMemory: createReasoningMemory({ clock: opened.clock }),
      deadlines: createDeadlines(createFakeTimers()),
      ids: counterIds(),
      clock: opened.clock,
      translation: createTranslation(undefined, counterIds()),
      codexQuota: { headersOf: () => [] },
    },
  });
}

for (const upstream of ["streamed", "whole"] as const) {
  Deno.test(`a Chat caller's whole answer ends at its stop string, ${upstream} by the provider`, async () => {
    const answer = await given({}, upstream);
    assert.equal(answer.headers.get("x-gateway-dropped"), "stop");
    const { choices: [choice], usage } = await answer.json();
    assert.equal(choice.message.content, "One ");
    assert.equal(choice.finish_reason, "stop");
    assert.equal(usage.completion_tokens, 7);
  });

  Deno.test(`a Chat caller's stream ends at its stop string with its usage, ${upstream} by the provider`, async () => {
    const answer = await given({
      stream: true,
      stream_options: { include_usage: true },
    }, upstream);
    const text = await answer.text();
    const chunks = text.split("\n\n").filter((line) =>
      line.startsWith("data: {")
    ).map((line) => JSON.parse(line.slice("data: ".length)));
    const said = chunks.map(({ choices: [choice] }) =>
      choice?.delta.content ?? ""
    ).join("");
    assert.equal(said, "One ");
    const reasons = chunks.map(({ choices: [choice] }) =>
      choice?.finish_reason ?? null
    ).filter((reason) => reason !== null);
    assert.deepEqual(reasons, ["stop"]);
    assert.equal(chunks.at(-1).usage.completion_tokens, 7);
    assert.match(text, /data: \[DONE\]\n\n$/);
  });

  Deno.test(`a legacy completion ends at its stop string, ${upstream} by the provider`, async () => {
    const answer = await given({}, upstream, completionsCodec);
    const { choices: [choice] } = await answer.json();
    assert.equal(choice.text, "One ");
    assert.equal(choice.finish_reason, "stop");
  });
}
