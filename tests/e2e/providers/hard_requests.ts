import type { JsonObject } from "../../../src/base/json.ts";
import type { FakeOperation } from "../../support/upstream/fake_providers.ts";

const SCHEMA: JsonObject = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
};

const PICTURE = "iVBORw0KGgoAAAANSUhEUg==";

/** A schema whose root, list and name OpenAI and Claude refuse. */
const LOOSE: JsonObject = {
  anyOf: [
    { type: "object", properties: { "filter[id]": { type: "array" } } },
    { type: "object", properties: { b: { type: "string" } } },
  ],
};

/**
 * Requests with features that some providers refuse: schemas, mixed strictness, many stop strings, media, long
 * answers.
 */
export const HARD: Readonly<Partial<Record<FakeOperation, JsonObject>>> = {
  chat_completions: {
    max_completion_tokens: 20_000,
    stop: ["A", "B", "C", "D"],
    tools: [
      { type: "function", function: { name: "loose", parameters: LOOSE } },
      {
        type: "function",
        function: { name: "look", parameters: SCHEMA, strict: true },
      },
    ],
    tool_choice: { type: "function", function: { name: "look" } },
    messages: [
      { role: "user", content: "Look." },
      {
        role: "assistant",
        tool_calls: [{
          id: "call_1",
          type: "function",
          function: { name: "loose", arguments: '{"filter[id]":[1]}' },
        }],
      },
      { role: "tool", tool_call_id: "call_1", content: "Seen." },
    ],
  },
  messages: {
    max_tokens: 20_000,
    stop_sequences: ["A", "B", "C", "D", "E", "F", "G"],
    tools: [
      { name: "loose", input_schema: LOOSE },
      { name: "look", input_schema: SCHEMA, strict: true },
    ],
    tool_choice: { type: "tool", name: "look" },
    messages: [
      { role: "user", content: "Look." },
      {
        role: "assistant",
        content: [{
          type: "tool_use",
          id: "toolu_1",
          name: "loose",
          input: { "filter[id]": [1] },
        }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [
            {
              type: "image",
              source: {
                type: "base64",
                media_type: "image/png",
                data: PICTURE,
              },
            },
            {
              type: "document",
              source: {
                type: "base64",
                media_type: "application/pdf",
                data: "JVBERi0xLjQ=",
              },
            },
          ],
        }],
      },
    ],
  },
  responses: {
    max_output_tokens: 20_000,
    text: { format: { type: "json_object" } },
    tools: [
      { type: "function", name: "loose", parameters: LOOSE, strict: false },
      { type: "function", name: "look", parameters: SCHEMA, strict: true },
    ],
    tool_choice: { type: "function", name: "look" },
    input: [
      { role: "user", content: "Look." },
      {
        type: "function_call",
        call_id: "call_1",
        name: "loose",
        arguments: '{"filter[id]":[1]}',
      },
      {
        type: "function_call_output",
        call_id: "call_1",
        output: [
          {
            type: "input_image",
            image_url: `data:image/png;base64,${PICTURE}`,
          },
        ],
      },
    ],
  },
};
