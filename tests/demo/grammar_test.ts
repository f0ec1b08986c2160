import assert from "node:assert/strict";
import type { JsonObject } from "../../src/core/json.ts";
import { foldChat } from "../support/sdk/chat_fold.ts";
import { foldMessages } from "../support/sdk/messages_fold.ts";
import { foldResponses } from "../support/sdk/responses_fold.ts";
import { ask, askBoth, askStream, createFixedDemo, gistOf } from "./harness.ts";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
};

const ASK_TWICE = "Use get_weather and get_time, please.";

const CHAT_TOOLS = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  function: { name, parameters: SCHEMA },
}));

const MESSAGES_TOOLS = ["get_weather", "get_time"].map((name) => ({
  name,
  input_schema: SCHEMA,
}));

const RESPONSES_TOOLS = [
  { type: "function", name: "get_weather", parameters: SCHEMA },
  {
    type: "namespace",
    name: "clock",
    tools: [{ type: "function", name: "get_time", parameters: SCHEMA }],
  },
];

const HELLO = [{ role: "user", content: "Hello there, ünïcode 🙂" }];

const CHAT_CASES: Readonly<Record<string, JsonObject>> = {
  "a text": { model: "demo-a", messages: HELLO },
  "reasoning, then a text": { model: "demo-a-think", messages: HELLO },
  "two tool calls": {
    model: "demo-a",
    messages: [{ role: "user", content: ASK_TWICE }],
    tools: CHAT_TOOLS,
  },
  "reasoning, then tool calls": {
    model: "demo-a",
    reasoning_effort: "low",
    messages: [{ role: "user", content: ASK_TWICE }],
    tools: CHAT_TOOLS,
  },
  "a custom tool call": {
    model: "demo-a",
    messages: [{ role: "user", content: "use the tool" }],
    tools: [{ type: "custom", custom: { name: "exec" } }],
  },
  "an answer that is cut": {
    model: "demo-a",
    max_tokens: 7,
    messages: HELLO,
  },
  "an answer that is cut before its first word": {
    model: "demo-a-think",
    max_tokens: 2,
    messages: HELLO,
  },
};

const MESSAGES_CASES: Readonly<Record<string, JsonObject>> = {
  "a text": { model: "demo-b", max_tokens: 500, messages: HELLO },
  "thinking, then a text": {
    model: "demo-b",
    max_tokens: 4000,
    thinking: { type: "enabled", budget_tokens: 1024 },
    messages: HELLO,
  },
  "thinking that is omitted": {
    model: "demo-b",
    max_tokens: 4000,
    thinking: { type: "adaptive", display: "omitted" },
    messages: HELLO,
  },
  "two tool calls": {
    model: "demo-b-think",
    max_tokens: 500,
    messages: [{ role: "user", content: ASK_TWICE }],
    tools: MESSAGES_TOOLS,
  },
  "a tool without arguments": {
    model: "demo-b",
    max_tokens: 500,
    messages: [{ role: "user", content: "call the tool" }],
    tools: [{ name: "now", input_schema: { type: "object" } }],
  },
  "a stop sequence": {
    model: "demo-b",
    max_tokens: 500,
    stop_sequences: ["there"],
    messages: HELLO,
  },
  "an answer that is cut": { model: "demo-b", max_tokens: 7, messages: HELLO },
};

const RESPONSES_CASES: Readonly<Record<string, JsonObject>> = {
  "a text": { model: "demo-c", input: "Hello there" },
  "a reasoning summary, then a text": {
    model: "demo-c",
    input: HELLO,
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
  },
  "reasoning in secret": {
    model: "demo-c",
    input: HELLO,
    reasoning: { effort: "high" },
  },
  "two tool calls, one of a namespace": {
    model: "demo-c-think",
    input: ASK_TWICE,
    tools: RESPONSES_TOOLS,
  },
  "a custom tool call": {
    model: "demo-c",
    input: "Run apply_patch",
    tools: [{
      type: "custom",
      name: "apply_patch",
      format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
    }],
  },
  "an answer that is cut": {
    model: "demo-c",
    input: HELLO,
    max_output_tokens: 16,
  },
  "a compaction": {
    model: "demo-c",
    input: [...HELLO, { type: "compaction_trigger" }],
  },
};

const CODECS_UNDER_TEST = [
  {
    protocol: "chat",
    family: "A",
    path: "/v1/chat/completions",
    cases: CHAT_CASES,
    fold: foldChat,
    streaming: { stream_options: { include_usage: true } },
  },
  {
    protocol: "messages",
    family: "B",
    path: "/v1/messages",
    cases: MESSAGES_CASES,
    fold: foldMessages,
    streaming: {},
  },
  {
    protocol: "responses",
    family: "C",
    path: "/v1/responses",
    cases: RESPONSES_CASES,
    fold: foldResponses,
    streaming: {},
  },
] as const;

for (
  const { protocol, family, path, cases, fold, streaming } of CODECS_UNDER_TEST
) {
  Deno.test(`a ${protocol} stream keeps the grammar and folds into the JSON answer`, async (t) => {
    for (const [name, body] of Object.entries(cases)) {
      await t.step(name, async () => {
        const text = await askStream(family, path, { ...body, ...streaming });
        const { status, answer } = await ask(family, path, body);
        assert.equal(status, 200);
        assert.deepEqual(fold(text), answer);
      });
    }
  });

  Deno.test(`the demo answers ${protocol} as the strict provider does, streaming or not`, async (t) => {
    for (const [name, body] of Object.entries(cases)) {
      await t.step(name, async () => {
        const { answer } = await askBoth(family, path, body);
        const text = await askStream(
          family,
          path,
          { ...body, ...streaming },
          createFixedDemo(),
        );
        assert.deepEqual(
          gistOf(fold(text), protocol),
          gistOf(answer, protocol),
        );
      });
    }
  });
}
