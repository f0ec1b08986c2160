import assert from "node:assert/strict";
import { GatewayError } from "../../../src/core/error.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { CODECS } from "../../../src/protocols/mod.ts";
import { userRequest } from "../../support/dialects/upstream_request.ts";
import { translateRequest } from "../../support/translate_request.ts";

// A provider accepts fewer stop strings than the request has. The gateway cuts the answer at the others.

function translate(
  stops: readonly string[],
  [to, service, model]: readonly [Protocol, string, string],
) {
  const { body, cuts, dropped } = translateRequest(
    userRequest("messages", { model: "m", stop_sequences: [...stops] }),
    {
      from: CODECS.messages,
      to: CODECS[to],
      target: { service, model, connectionId: "c", maxOutputTokens: undefined },
      strict: false,
      streamOnly: false,
      force: {},
      omit: [],
    },
  );
  return { sent: body.stop, cuts, dropped: [...dropped] };
}

/** The most stop strings of a provider. */
const LIMITS: readonly (readonly [Protocol, string, string, number])[] = [
  // "the number of stop_sequences must not exceed 5": https://github.com/continuedev/continue/issues/2702
  ["chat", "gemini", "gemini-3.8-flash", 5],
  // https://github.com/continuedev/continue/issues/7849
  ["chat", "vertex", "google/gemini-2.5-flash", 5],
  // "len(stop) > 4 is not supported": https://github.com/letta-ai/letta/issues/1272
  ["chat", "groq", "openai/gpt-oss-120b", 4],
  // https://docs.z.ai/api-reference/llm/chat-completion
  ["chat", "zai", "glm-4.7", 1],
  ["chat", "bigmodel", "glm-5", 1],
  // https://developers.openai.com/api/reference/resources/chat
  ["chat", "openai", "gpt-4.1", 4],
  ["chat", "openai", "gpt-5", 0],
  // https://platform.kimi.ai/docs/api/chat
  ["chat", "kimi", "kimi-k2.6", 5],
  // https://api-docs.deepseek.com/api/create-chat-completion
  ["chat", "deepseek", "deepseek-v4", 16],
  // https://docs.cohere.com/docs/compatibility-api
  ["chat", "cohere", "command-a-03-2025", 5],
  ["chat", "xai", "grok-4.6", 0],
  ["responses", "openai", "gpt-5.2", 0],
];

const MANY = Array.from({ length: 20 }, (_, index) => `<${index}>`);

for (const [to, service, model, most] of LIMITS) {
  Deno.test(`${model} at ${service} gets at most ${most} stop strings, and the gateway watches for the rest`, () => {
    const made = translate(MANY, [to, service, model]);
    const sent = MANY.slice(0, most);
    assert.deepEqual(made.sent, most === 0 ? undefined : sent);
    assert.deepEqual(made.cuts, MANY.slice(most));
    assert.deepEqual(made.dropped, ["stop_sequences"]);
    if (most === 0) return;
    const few = translate(sent, [to, service, model]);
    assert.deepEqual(few, { sent, cuts: [], dropped: [] });
  });
}

Deno.test("more stop strings than the gateway can watch for are a clear 400", () => {
  const many = Array.from({ length: 1_000_000 }, (_, index) => `#${index}#`);
  for (const stops of [many, ["x".repeat(70_000)]]) {
    assert.throws(
      () => translate(stops, ["chat", "xai", "grok-4.6"]),
      (error) =>
        error instanceof GatewayError && error.kind === "invalid_request" &&
        error.param === "stop_sequences" &&
        /at most 1000 others, of 65536 characters together/.test(error.message),
    );
  }
});

Deno.test("a provider without a known limit gets as many as the caller sent", () => {
  const many = Array.from({ length: 5000 }, (_, index) => `#${index}#`);
  const made = translate(many, ["chat", "custom", "m"]);
  assert.deepEqual([made.sent, made.cuts.length], [many, 0]);
});
