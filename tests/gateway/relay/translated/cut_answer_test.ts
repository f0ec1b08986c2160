import { toResponse } from "../../../../src/gateway/http/gateway.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { CallerCodec } from "../../../../src/codecs/canonical/codec.ts";
import { completionsCodec } from "../../../../src/codecs/completions/mod.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { createReasoningMemory } from "../../../../src/gateway/relay/translated/reasoning_memory.ts";
import { openTestAttempt } from "../../../support/gateway/attempt.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { sseBytes } from "../../../support/wire/sse_bytes.ts";
import { translateRequest } from "../../../support/translate_request.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { openTranslatedAttempt } from "../../../support/gateway/translated_attempt.ts";
import { createTranslatedWatch } from "../../../../src/gateway/relay/translated/answer_watch.ts";
import { estimateTokens } from "../../../../src/codecs/jobs/request_job.ts";
import { targetOf } from "../../../support/dialects/targets.ts";

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

/** Returns the answer for a caller with a stop string, from a streaming or a non-streaming upstream. */
async function given(
  fields: JsonObject,
  upstream: "streamed" | "whole",
  codec: CallerCodec = CODECS.chat,
): Promise<Response> {
  const opened = await openTestAttempt({
    operation: codec === CODECS.chat ? "chat_completions" : "completions",
    idleMs: 100,
  });
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
    target: targetOf("openai", "gpt-5.2"),
    streamOnly: upstream === "streamed",
  });
  assert.deepEqual([...translated.dropped], ["stop"]);
  const answer = upstream === "streamed"
    ? new Response(sseBytes(...STREAM), {
      headers: { "content-type": "text/event-stream" },
    })
    : Response.json(RESPONSE);
  const attempt = openTranslatedAttempt(opened, {
    to: "responses",
    deadlines: createDeadlines(createFakeTimers()),
  });
  return toResponse(
    await attempt.answer(answer, {
      ...translated,
      stream: translated.body.stream === true,
      estimatedInputTokens: 1,
    }),
  );
}

for (const upstream of ["streamed", "whole"] as const) {
  Deno.test(`a Chat caller's JSON answer ends at its stop string, from a ${upstream} answer of the provider`, async () => {
    const answer = await given({}, upstream);
    assert.equal(answer.headers.get("x-gateway-dropped"), "stop");
    const { choices: [choice], usage } = await answer.json();
    assert.equal(choice.message.content, "One ");
    assert.equal(choice.finish_reason, "stop");
    assert.equal(usage.completion_tokens, 7);
  });

  Deno.test(`a Chat caller's stream ends at its stop string with its usage, from a ${upstream} answer of the provider`, async () => {
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

  Deno.test(`a legacy completion ends at its stop string, from a ${upstream} answer of the provider`, async () => {
    const answer = await given({}, upstream, completionsCodec);
    const { choices: [choice] } = await answer.json();
    assert.equal(choice.text, "One ");
    assert.equal(choice.finish_reason, "stop");
  });
}

const END: AnswerEvent = { type: "end", stop: { reason: "end" } };

const FAILURE: AnswerEvent = {
  type: "failure",
  failure: { kind: "broken", message: "It broke." },
};

async function watchOf(events: readonly AnswerEvent[]) {
  const { attempt, clock } = await openTestAttempt();
  const watch = createTranslatedWatch({
    exchange: attempt.exchange,
    reasoningMemory: createReasoningMemory({ clock }),
    translated: { bound: undefined, reasoning: [] },
    reasoningField: "reasoning",
  });
  for (const event of events) watch.see(event);
  return { end: watch.end(), failure: watch.failure()?.kind };
}

Deno.test("a translated answer is complete after its last event, unless writing that event failed", async () => {
  assert.deepEqual(await watchOf([]), { end: "cut", failure: undefined });
  assert.deepEqual(await watchOf([END]), { end: "whole", failure: undefined });
  assert.deepEqual(await watchOf([END, FAILURE]), {
    end: "failed",
    failure: "broken",
  });
});

const BASE64 = "A".repeat(4_000_000);

/** Returns the estimate for a caller's body. */
function estimate(
  protocol: "chat" | "messages" | "responses",
  body: JsonObject,
): number {
  const request = CODECS[protocol].decodeRequest(body);
  return estimateTokens(JSON.stringify(body).length, request);
}

function messages(content: JsonObject[]): JsonObject {
  return { model: "m", max_tokens: 9, messages: [{ role: "user", content }] };
}

const IMAGE = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: BASE64 },
};

Deno.test("estimateTokens() counts text by its length", () => {
  const text = "x".repeat(40_000);
  const count = estimate("messages", messages([{ type: "text", text }]));
  assert.ok(count > 10_000 && count < 10_100, String(count));
});

Deno.test("estimateTokens() counts pictures, files and sound by their content, anywhere in the request", () => {
  const pictures = [
    estimate("messages", messages([IMAGE])),
    estimate(
      "messages",
      messages([{ type: "tool_result", tool_use_id: "a", content: [IMAGE] }]),
    ),
    estimate(
      "messages",
      messages([{
        type: "document",
        source: { type: "content", content: [IMAGE] },
      }]),
    ),
    estimate("chat", {
      model: "m",
      messages: [{
        role: "user",
        content: [{
          type: "image_url",
          image_url: { url: `data:image/png;base64,${BASE64}` },
        }],
      }],
    }),
    estimate("responses", {
      model: "m",
      input: [{
        role: "user",
        content: [{
          type: "input_image",
          image_url: `data:image/png;base64,${BASE64}`,
        }],
      }],
    }),
  ];
  for (const count of pictures) {
    assert.ok(count >= 1600 && count < 1800, String(count));
  }
  const file = estimate(
    "messages",
    messages([{
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: BASE64 },
    }]),
  );
  assert.ok(file >= 3000 && file < 3200, String(file));
  const sound = estimate("chat", {
    model: "m",
    messages: [{
      role: "user",
      content: [{
        type: "input_audio",
        input_audio: { format: "wav", data: BASE64 },
      }],
    }],
  });
  assert.ok(sound >= 1000 && sound < 1200, String(sound));
});

Deno.test("estimateTokens() counts a text document and the URL of a picture by their length", () => {
  const data = "x".repeat(40_000);
  const source = { type: "text", media_type: "text/plain", data };
  const text = estimate("messages", messages([{ type: "document", source }]));
  assert.ok(text > 10_000 && text < 10_100, String(text));
  const url = { type: "url", url: "https://example.com/a.png" };
  const shown = estimate(
    "messages",
    messages([{ type: "image", source: url }]),
  );
  assert.ok(shown >= 1600 && shown < 1700, String(shown));
});
