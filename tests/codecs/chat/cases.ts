import type { JsonObject } from "../../../src/base/json.ts";
import type { ContractCase } from "../../contract/codec_contract.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { yamlObject } from "../../support/yaml.ts";

/** Returns a chunk of a stream. */
function chunk(delta: unknown, finish: string | null = null): unknown {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "model-x",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

function call(id: string, name: string, json: string): JsonObject {
  return { id, type: "function", function: { name, arguments: json } };
}

const USAGE = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 4 },
};

/** Exchanges from the protocol's documentation. */
export const CHAT_CASES: readonly ContractCase[] = [
  {
    name: "every setting",
    request: yamlObject(`
model: model-x
stream: true
stream_options: { include_usage: true }
messages: [{ role: system, content: Be brief. }, { role: developer, content: Speak English. }, { role: user, content: Hello, name: anna }]
tools:
- type: function
  function:
    name: weather
    description: Looks outside
    parameters: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
    strict: true
- type: custom
  custom: { name: patch, description: Changes files, format: { type: grammar, grammar: { syntax: lark, definition: "start: /.+/" } } }
- { type: custom, custom: { name: note, format: { type: text } } }
tool_choice: auto
parallel_tool_calls: false
response_format:
  type: json_schema
  json_schema:
    name: city
    description: A city
    schema: { type: object, properties: { name: { type: string } }, required: [name], additionalProperties: false }
    strict: true
verbosity: low
max_completion_tokens: 900
stop: [END]
temperature: 0.5
top_p: 0.9
seed: 7
frequency_penalty: 0.1
presence_penalty: 0.2
reasoning_effort: high
service_tier: flex
user: user-1
prompt_cache_key: thread-1
metadata: { team: red }
logprobs: true
top_logprobs: 3
logit_bias: { "50256": -100 }
n: 2
store: true
prediction: { type: content, content: x }
`),
  },
  {
    name: "content of every kind",
    request: yamlObject(`
model: gpt-5.6
messages:
- role: user
  content:
  - { type: text, text: Look, prompt_cache_breakpoint: { mode: explicit, ttl: "30m" } }
  - { type: image_url, image_url: { url: "https://example.com/a.png", detail: low } }
  - { type: image_url, image_url: { url: "data:image/png;base64,aGk=" } }
  - { type: file, file: { file_data: "data:application/pdf;base64,aGk=", filename: a.pdf } }
  - { type: file, file: { file_id: file-1 } }
  - { type: input_audio, input_audio: { data: "aGk=", format: wav } }
  - { type: video_url, video_url: { url: "https://example.com/a.mp4" } }
`),
  },
  {
    name: "a tool loop",
    request: yamlObject(`
model: model-x
messages:
- { role: user, content: "Weather in Köln and Rome, and note it" }
- role: assistant
  content: Let me look.
  tool_calls:
  - { id: call_1, type: function, function: { name: weather, arguments: "{\\"city\\": \\"Köln\\"}" } }
  - { id: call_2, type: function, function: { name: weather, arguments: "{\\"city\\": \\"Rome\\"}" } }
  - { id: call_3, type: custom, custom: { name: note, input: two cities } }
- { role: tool, tool_call_id: call_1, content: rain }
- { role: tool, tool_call_id: call_2, content: sun }
- { role: tool, tool_call_id: call_3, content: noted }
- { role: assistant, content: Rain and sun. }
- { role: user, content: "And tomorrow?" }
- { role: assistant, content: null, refusal: I cannot see the future. }
- { role: user, content: Try }
tools: [{ type: function, function: { name: weather, parameters: { type: object, properties: {} } } }]
tool_choice: { type: function, function: { name: weather } }
`),
  },
  {
    name: "allowed tools",
    request: yamlObject(`
model: model-x
messages: [{ role: user, content: Go }]
tools:
- { type: function, function: { name: a, parameters: { type: object, properties: {} } } }
- { type: function, function: { name: b, parameters: { type: object, properties: {} } } }
tool_choice: { type: allowed_tools, allowed_tools: { mode: required, tools: [{ type: function, function: { name: b } }] } }
`),
  },
  {
    name: "reasoning in the history",
    service: "deepseek",
    request: yamlObject(`
model: deepseek-x
messages:
- { role: user, content: Hi }
- role: assistant
  content: null
  reasoning_content: I should ask
  tool_calls: [{ id: c1, type: function, function: { name: f, arguments: "{}" } }]
- { role: tool, tool_call_id: c1, content: ok }
thinking: { type: enabled }
max_tokens: 100
`),
  },
  {
    name: "sealed reasoning in the history",
    service: "openrouter",
    request: yamlObject(`
model: m
messages:
- { role: user, content: Hi }
- role: assistant
  content: "Yes"
  reasoning: Thinking
  reasoning_details:
  - { type: reasoning.text, text: Thinking, signature: sig, index: 0 }
  - { type: reasoning.encrypted, data: gAAA, index: 1 }
- { role: user, content: More }
reasoning: { effort: low }
top_k: 20
`),
  },
  {
    name: "text, reasoning, refusal and calls",
    answer: yamlObject(`
id: chatcmpl-1
object: chat.completion
created: 1700000000
model: model-x
choices:
- index: 0
  message:
    role: assistant
    content: "Grüße 👋"
    refusal: null
    reasoning_content: think
    tool_calls:
    - { id: c1, type: function, function: { name: f, arguments: "{\\"a\\":1}" } }
    - { id: c2, type: custom, custom: { name: p, input: raw } }
    annotations: [{ type: url_citation, url_citation: { url: "https://example.com", title: T, start_index: 0, end_index: 5 } }]
  finish_reason: tool_calls
usage:
  prompt_tokens: 30
  completion_tokens: 12
  total_tokens: 42
  prompt_tokens_details: { cached_tokens: 20 }
  completion_tokens_details: { reasoning_tokens: 4 }
service_tier: default
`),
  },
  {
    name: "a stream of everything",
    stream: sseBytes(
      chunk({ role: "assistant", content: "", refusal: null }),
      chunk({ reasoning_content: "thi" }),
      chunk({ reasoning_content: "nk" }),
      chunk({ content: "Grüße " }),
      chunk({ content: "👋" }),
      chunk({ tool_calls: [{ index: 0, ...call("c1", "f", "") }] }),
      chunk({ tool_calls: [{ index: 1, ...call("c2", "g", "") }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
      chunk({ tool_calls: [{ index: 1, function: { arguments: '{"b"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
      chunk({ tool_calls: [{ index: 1, function: { arguments: ":2}" } }] }),
      chunk({}, "tool_calls"),
      {
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        created: 1,
        model: "model-x",
        choices: [],
        usage: USAGE,
      },
      "[DONE]",
    ),
  },
];
