import assert from "node:assert/strict";
import type { Answer } from "../../../src/codecs/canonical/answer/answer.ts";
import { isToolCall } from "../../../src/codecs/canonical/content/block.ts";
import { foldAnswer } from "../../../src/codecs/canonical/answer/fold.ts";
import { chatCodec } from "../../../src/codecs/chat/mod.ts";
import { formatFrame } from "../../../src/base/streams/sse.ts";
import { ANSWERS } from "../../contract/answers.ts";
import {
  answerContext,
  decodeBytes,
  encodeStream,
} from "../../contract/codec_contract.ts";
import { loadRecordings } from "../../support/recorded/recordings.ts";
import { requestOf } from "../../support/wire/requests.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";
import { testNeeding } from "../../support/ignored.ts";

const REQUEST = requestOf({
  extras: {
    chat: {
      stream_options: { value: { include_usage: true }, weight: "ignore" },
    },
  },
});

/** Returns an SDK whose every request is answered with `body`. */
function sdkOf(body: string, contentType: string): OpenAI {
  return new OpenAI({
    apiKey: "none",
    baseURL: "http://gateway.invalid/v1",
    maxRetries: 0,
    fetch: () =>
      Promise.resolve(
        new Response(body, { headers: { "content-type": contentType } }),
      ),
  });
}

const QUESTION = {
  model: "m",
  messages: [{ role: "user", content: "Hi" }],
} as const;

/** The SDK's reading of the streamed answer. */
async function streamed(answer: Answer) {
  const text = encodeStream(chatCodec, answer, REQUEST).map(formatFrame).join(
    "",
  );
  const stream = sdkOf(text, "text/event-stream").chat.completions.stream({
    ...QUESTION,
    messages: [...QUESTION.messages],
    stream_options: { include_usage: true },
  });
  return await stream.finalChatCompletion();
}

/** The SDK's reading of the JSON answer. */
async function whole(answer: Answer) {
  const body = JSON.stringify(
    chatCodec.encodeAnswer(answer, answerContext(REQUEST)),
  );
  return await sdkOf(body, "application/json").chat.completions.create({
    ...QUESTION,
    messages: [...QUESTION.messages],
  });
}

/** Returns the facts of a completion that must be equal in both forms. */
function factsOf(completion: OpenAI.ChatCompletion) {
  const [choice] = completion.choices;
  const calls = choice?.message.tool_calls ?? [];
  return {
    id: completion.id,
    content: choice?.message.content ?? "",
    refusal: choice?.message.refusal ?? "",
    finish: choice?.finish_reason,
    usage: completion.usage ?? undefined,
    calls: calls.map((call) =>
      call.type === "function"
        ? [call.id, call.function.name, call.function.arguments]
        : []
    ),
  };
}

async function check(answer: Answer): Promise<void> {
  const facts = factsOf(await streamed(answer));
  assert.deepEqual(facts, factsOf(await whole(answer)));
  const calls = answer.blocks.filter(isToolCall);
  assert.deepEqual(facts.calls.map(([id]) => id), calls.map(({ id }) => id));
}

for (const { name, answer } of ANSWERS) {
  Deno.test(`openai-node reads the Chat answer "${name}" as a stream and as JSON`, () =>
    check(answer));
}

Deno.test("openai-node throws the failure of a Chat stream", async () => {
  const encoder = chatCodec.createStreamEncoder(answerContext(REQUEST));
  let text = "";
  const write = (frame: { data: string; event?: string | undefined }) => {
    text += formatFrame(frame);
  };
  encoder.push({ type: "start", id: "c-1", model: "m" }, write);
  encoder.push({
    type: "failure",
    failure: { kind: "overloaded", message: "Too busy" },
  }, write);
  const stream = await sdkOf(text, "text/event-stream").chat.completions.create(
    { ...QUESTION, messages: [...QUESTION.messages], stream: true },
  );
  await assert.rejects(
    async () => {
      for await (const chunk of stream) assert.equal(chunk.choices.length, 1);
    },
    (error) =>
      error instanceof OpenAI.APIError && error.message.includes("Too busy"),
  );
});

const STREAMS = loadRecordings("chat").filter(({ stream }) =>
  stream !== undefined
);

testNeeding(
  "openai-node reads every recorded Chat stream after decoding and encoding",
  STREAMS.length === 0 && "there are no recordings here",
  async (t) => {
    for (const { name, stream } of STREAMS) {
      if (stream === undefined) continue;
      await t.step(
        name,
        () => check(foldAnswer(decodeBytes(chatCodec, stream))),
      );
    }
  },
);
