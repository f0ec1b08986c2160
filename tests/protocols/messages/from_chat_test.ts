import assert from "node:assert/strict";
import { GatewayError } from "../../../src/core/error.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { chatCodec } from "../../../src/protocols/chat/mod.ts";
import { messagesCodec } from "../../../src/protocols/messages/mod.ts";
import { assertSendable } from "../../support/sdk/messages_rules.ts";
import { loadRecordings } from "../../support/recorded/recordings.ts";
import { CHAT_CASES } from "../chat/cases.ts";
import { translateRequest } from "../../support/translate_request.ts";

/** One model of each generation with its own rules, and a model of a compatible server. */
const MODELS = [
  "claude-3-5-haiku-20241022",
  "claude-haiku-4-5",
  "claude-opus-4-6",
  "claude-opus-4-8",
  "claude-sonnet-5-5",
  "glm-5",
];

/** Chat requests that no Messages upstream can answer, by the requested feature. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ["every setting", "logprobs"],
  ["content of every kind", "messages"],
  [
    "deepseek-v4-flash-streaming-logprobs-matrix-streaming-disabled-length-top-absent",
    "logprobs",
  ],
  ["openai-gpt-3.5-turbo-0125-chat-completions-post", "n"],
  ["openai-gpt-3.5-turbo-0301-chat-completion", "n"],
  ["openai-gpt-4o-audio-preview-chat-audio-to-text", "messages"],
  [
    "openai-gpt-4o-mini-streaming-chat-completions-records-multiple-choices",
    "n",
  ],
  ["openai-gpt-audio-1.5-chatwithbasicaudiooutputasync", "modalities"],
]);

const REQUESTS = [...CHAT_CASES, ...loadRecordings("chat")].flatMap(
  ({ name, request }) => request === undefined ? [] : [{ name, request }],
);

for (const model of MODELS) {
  Deno.test(`every Chat request becomes one that a Messages upstream takes for ${model}`, async (t) => {
    for (const { name, request } of REQUESTS) {
      await t.step(name, () => {
        const param = REFUSED.get(name);
        if (param === undefined) {
          return assertSendable(translate(request, model));
        }
        assert.throws(
          () => translate(request, model),
          (error) => error instanceof GatewayError && error.param === param,
        );
      });
    }
  });
}

function translate(request: JsonObject, model: string): JsonObject {
  // Azure has the model in the path.
  return translateRequest({ model: "m", ...request }, {
    from: chatCodec,
    to: messagesCodec,
    target: {
      service: "custom",
      connectionId: "connection-1",
      model,
      maxOutputTokens: undefined,
    },
    strict: false,
    streamOnly: false,
    force: {},
    omit: [],
  }).body;
}
