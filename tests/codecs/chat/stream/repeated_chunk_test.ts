import assert from "node:assert/strict";
import { randomIds } from "../../../../src/base/ids.ts";
import { runStage } from "../../../../src/base/stage.ts";
import { createStreamDecoder } from "../../../../src/codecs/chat/stream/decode.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Returns a chunk of a stream with one choice. */
function chunkOf(
  delta: unknown,
  choice: Fields = {},
  rest: Fields = {},
): Fields {
  const choices = [{ index: 0, delta, finish_reason: null, ...choice }];
  return { id: "c1", object: "chat.completion.chunk", choices, ...rest };
}

const usage = { prompt_tokens: 5, completion_tokens: 1 };
const error = { message: "The model is overloaded", code: 503 };
const call = {
  index: 0,
  id: "call_1",
  function: { name: "f", arguments: "{}" },
};

/** Chunks with a text, each of which repeats with another text. */
const REPEATED: Readonly<Record<string, (text: string) => Fields>> = {
  "text": (content) => chunkOf({ content }),
  "text with a role and fields without a value": (content) =>
    chunkOf({ role: "assistant", content, refusal: null, tool_calls: null }, {
      logprobs: null,
    }, { usage: null, created: 1, service_tier: "default" }),
  "reasoning": (reasoning) => chunkOf({ content: "", reasoning }),
  "reasoning beside a text": (content) =>
    chunkOf({ content, reasoning_content: "Hm" }),
  "text and a refusal": (content) => chunkOf({ content, refusal: "No" }),
  "text with usage": (content) => chunkOf({ content }, {}, { usage }),
  "text with pages": (content) =>
    chunkOf({ content }, {}, { citations: ["https://a.example/"] }),
  "text with an annotation": (content) =>
    chunkOf({
      content,
      annotations: [{ url_citation: { url: "https://a.example/" } }],
    }),
  "thoughts of Gemini": (content) =>
    chunkOf({ content, extra_content: { google: { thought: true } } }),
  "text of another choice": (content) => chunkOf({ content }, { index: 1 }),
  "text of two choices": (content) => {
    const [choice] = [chunkOf({ content }).choices].flat();
    return { id: "c1", choices: [choice, choice] };
  },
  "text with a call": (content) => chunkOf({ content, tool_calls: [call] }),
  "text with a reason for the end": (content) =>
    chunkOf({ content }, { finish_reason: "length" }),
  "text with an error in its choice": (content) =>
    chunkOf({ content }, { error, finish_reason: "error" }),
  "text with an error": (content) => chunkOf({ content }, {}, { error }),
};

/** Chunks that may come between repeated ones. */
const BETWEEN: Readonly<Record<string, readonly Fields[]>> = {
  "nothing": [],
  "a call": [chunkOf({ tool_calls: [call] })],
  "reasoning": [chunkOf({ reasoning_content: "So" })],
  "a reason for the end": [chunkOf({}, { finish_reason: "stop" })],
};

/** Decodes chunks. With `isIndented`, they differ in more than their text. */
function decoded(chunks: readonly Fields[], isIndented: boolean) {
  const frames = chunks.map((chunk, index) => ({
    data: " ".repeat(isIndented ? index : 0) + JSON.stringify(chunk),
  }));
  return runStage(createStreamDecoder({ next: (prefix) => `${prefix}_1` }), [
    ...frames,
    { data: "[DONE]" },
  ]);
}

for (const [name, repeated] of Object.entries(REPEATED)) {
  for (const [other, between] of Object.entries(BETWEEN)) {
    Deno.test(`repeated chunks of ${name}, with ${other} between, are read as different ones are`, () => {
      const texts = ["The", " first", ' "two"\n', "", " and", " more"];
      const chunks = texts.map(repeated);
      const all = [...chunks, ...between, ...chunks];
      const expected = decoded(all, true);
      assert.deepEqual(decoded(all, false), expected);
      assert.ok(expected.length > 0);
    });
  }
}

Deno.test("a repeated text in an event named error is a failure", () => {
  const data = JSON.stringify(chunkOf({ content: "Hi" }));
  const frames = [{ data }, { data }, { data, event: "error" }];
  const events = runStage(createStreamDecoder(randomIds), frames);
  assert.equal(events.at(-1)?.type, "failure");
});
