import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";

const MARK: JsonObject = { type: "ephemeral" };

const SCHEMA: JsonObject = {
  type: "object",
  $schema: "https://json-schema.org/draft/2020-12/schema",
  properties: {
    city: {
      ...{ type: "string", minLength: 1, pattern: "^[A-Z]", const: "Oslo" },
      ...{ default: "Oslo", format: "uri" },
    },
    days: {
      ...{ type: "array", maxItems: 3, uniqueItems: true },
      items: { type: "number", multipleOf: 1 },
    },
    extra: { type: "object", propertyNames: { pattern: "^x" } },
  },
  required: ["city", "days", "extra"],
  additionalProperties: false,
};

const IMAGE_URL = "data:image/png;base64,iVBORw0KGgo=";

/** A request in each protocol, with every field that a refusal may concern and an image in an earlier message. */
export const REFUSED_BODIES: Readonly<Record<Protocol, JsonObject>> = {
  chat: {
    ...{ model: "m", stream: false, stream_options: { include_usage: true } },
    ...{ max_tokens: 64_000, temperature: 0.2, top_p: 0.5, top_k: 4, seed: 1 },
    ...{ stop: ["END"], frequency_penalty: 1, presence_penalty: 1 },
    ...{ reasoning_effort: "xhigh", verbosity: "low", service_tier: "flex" },
    ...{ user: "u-1", metadata: { team: "b" }, parallel_tool_calls: false },
    ...{ prompt_cache_key: "k-1", prompt_cache_retention: "24h" },
    messages: [
      { role: "developer", content: "Answer in one line." },
      {
        role: "user",
        name: "zoe",
        content: [
          { type: "text", text: "What is it?", cache_control: MARK },
          { type: "image_url", image_url: { url: IMAGE_URL } },
        ],
      },
      {
        role: "assistant",
        content: null,
        reasoning_content: "I look it up.",
        tool_calls: [{
          id: "c1",
          type: "function",
          function: { name: "weather", arguments: '{"city":"Oslo"}' },
        }],
      },
      { role: "tool", tool_call_id: "c1", content: "Rain" },
      { role: "user", content: "And tomorrow?" },
    ],
    tools: [
      {
        type: "function",
        function: { name: "weather", strict: true, parameters: SCHEMA },
        cache_control: MARK,
      },
      { type: "function", function: { name: "plain", parameters: SCHEMA } },
    ],
  },
  messages: {
    ...{ model: "m", stream: false, max_tokens: 64_000, temperature: 0.2 },
    ...{ top_p: 0.5, top_k: 4, stop_sequences: ["END"], service_tier: "auto" },
    ...{ metadata: { user_id: "u-1" }, cache_control: MARK },
    thinking: { type: "adaptive" },
    output_config: { effort: "xhigh" },
    system: [{
      type: "text",
      text: "Answer in one line.",
      cache_control: MARK,
    }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?", cache_control: MARK },
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: "iVBO" },
          },
        ],
      },
      { role: "assistant", content: "A cat" },
      { role: "user", content: "And tomorrow?" },
    ],
    tools: [
      {
        ...{ name: "weather", strict: true, input_schema: SCHEMA },
        ...{ cache_control: MARK, eager_input_streaming: true },
      },
      { name: "plain", input_schema: SCHEMA },
    ],
  },
  responses: {
    ...{ model: "m", stream: false, max_output_tokens: 64_000, top_p: 0.5 },
    ...{ temperature: 0.2, user: "u-1", metadata: { team: "b" }, store: false },
    ...{ service_tier: "flex", truncation: "auto", parallel_tool_calls: false },
    ...{ prompt_cache_key: "k-1", stream_options: { include_usage: true } },
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "xhigh", summary: "auto" },
    text: { verbosity: "low" },
    input: [
      { role: "developer", content: "Answer in one line." },
      {
        role: "user",
        content: [
          {
            type: "input_text",
            text: "What is it?",
            prompt_cache_breakpoint: {},
          },
          { type: "input_image", image_url: IMAGE_URL },
        ],
      },
      { role: "assistant", content: "A cat" },
      { role: "user", content: "And tomorrow?" },
    ],
    tools: [
      { type: "function", name: "weather", strict: true, parameters: SCHEMA },
      { type: "function", name: "plain", strict: false, parameters: SCHEMA },
    ],
  },
};
