import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { received } from "../../support/dialects/upstream_request.ts";

// Gemini 3 refuses a history whose first call of a step has no signature. The signature is lost when the gateway has
// restarted, or when another model made the call
// (docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures).

const SKIP = { thought_signature: "skip_thought_signature_validator" };
const STAND_IN = { google: SKIP };
/** Vertex has used both keys. */
const AT_VERTEX = { ...STAND_IN, vertex: SKIP };

function step(...ids: string[]): JsonObject[] {
  return [
    {
      role: "assistant",
      content: ids.map((id) => ({
        type: "tool_use",
        id,
        name: "f",
        input: {},
      })),
    },
    {
      role: "user",
      content: ids.map((id) => ({
        type: "tool_result",
        tool_use_id: id,
        content: "1",
      })),
    },
  ];
}

/** A history of another model: a turn of two steps, and a further turn. */
const HISTORY: JsonObject = {
  messages: [
    { role: "user", content: "Hi" },
    ...step("a1", "a2"),
    ...step("b1"),
    { role: "assistant", content: "Done." },
    { role: "user", content: "Again" },
    ...step("c1", "c2", "c3"),
  ],
};

function assistants({ body }: { readonly body: JsonObject }): JsonObject[] {
  assert.ok(Array.isArray(body.messages));
  return body.messages.filter(isJsonObject)
    .filter(({ role }) => role === "assistant");
}

function extras(answer: JsonObject): unknown[] {
  return Array.isArray(answer.tool_calls)
    ? answer.tool_calls.filter(isJsonObject).map((call) => call.extra_content)
    : [];
}

for (
  const target of [
    "gemini gemini-3-pro-preview",
    "gemini models/gemini-3.8-flash",
    "gemini gemini-flash-latest",
    "vertex google/gemini-4-argon",
  ]
) {
  Deno.test(`the first call of each step gets a substitute for its lost signature at ${target}`, () => {
    const { body, dropped } = received("messages", `chat ${target}`, HISTORY);
    const standIn = target.startsWith("vertex") ? AT_VERTEX : STAND_IN;
    assert.deepEqual(assistants({ body }).map(extras), [
      [standIn, undefined],
      [standIn],
      [],
      [standIn, undefined, undefined],
    ]);
    assert.deepEqual(dropped, []);
  });
}

Deno.test("a signature that a caller has kept returns unchanged, and only steps without one get the substitute", () => {
  const own = { google: { thought_signature: "sig" } };
  const call = (id: string, extra?: JsonObject) => ({
    id,
    type: "function",
    function: { name: "f", arguments: "{}" },
    ...(extra === undefined ? {} : { extra_content: extra }),
  });
  const turn = (id: string, extra?: JsonObject) => [
    { role: "assistant", content: null, tool_calls: [call(id, extra)] },
    { role: "tool", tool_call_id: id, content: "1" },
  ];
  const { body } = received("chat", "chat gemini gemini-3.8-flash", {
    messages: [
      { role: "user", content: "Hi" },
      ...turn("a"),
      ...turn("b", own),
    ],
  });
  assert.deepEqual(assistants({ body }).map(extras), [[STAND_IN], [own]]);
});

Deno.test("models that need no signature get no substitute, at any service", () => {
  for (
    const target of [
      "gemini gemini-2.5-flash",
      "gemini gemini-2.0-flash-001",
      "vertex meta/llama-4-maverick-17b-128e-instruct-maas",
      "openai gpt-5",
      "openrouter anthropic/claude-opus-5",
    ]
  ) {
    const { body } = received("messages", `chat ${target}`, HISTORY);
    assert.doesNotMatch(JSON.stringify(body), /skip_thought/, target);
  }
});

Deno.test("OpenRouter gets the substitute for each call of a step of Gemini 3", () => {
  const { body } = received(
    "messages",
    "chat openrouter google/gemini-3-flash-preview",
    HISTORY,
  );
  const details = assistants({ body }).map((one) => one.reasoning_details);
  assert.deepEqual(details[1], [{
    type: "reasoning.encrypted",
    data: "skip_thought_signature_validator",
    id: "b1",
    format: "google-gemini-v1",
  }]);
  assert.equal(Array.isArray(details[0]) && details[0].length, 2);
  assert.equal(details[2], undefined);
});
