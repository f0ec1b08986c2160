import type { ContractCase } from "../../contract/codec_contract.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { fromUser, textPart } from "../../support/wire/messages.ts";
import { yamlObject } from "../../support/yaml.ts";

const USAGE = {
  input_tokens: 12,
  cache_creation_input_tokens: 5,
  cache_read_input_tokens: 100,
  cache_creation: {
    ephemeral_5m_input_tokens: 5,
    ephemeral_1h_input_tokens: 0,
  },
  output_tokens: 1,
  service_tier: "standard",
};

/** Returns the beginning of a stream. */
function start(usage: unknown = USAGE): unknown {
  return {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  };
}

/** Returns a block with its deltas. */
function block(
  index: number,
  content_block: unknown,
  ...deltas: readonly unknown[]
): unknown[] {
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

/** Returns the end of a stream. */
function end(
  stop_reason: string,
  usage: unknown = { output_tokens: 30 },
): unknown[] {
  return [
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage,
    },
    { type: "message_stop" },
  ];
}

const json = (partial_json: string) => ({
  type: "input_json_delta",
  partial_json,
});
const said = (text: string) => ({ type: "text_delta", text });
const CALL = { type: "tool_use", id: "toolu_1", name: "weather", input: {} };
const TEXT = textPart("");

/** Exchanges from the protocol's documentation. */
export const MESSAGES_CASES: readonly ContractCase[] = [
  {
    name: "every setting",
    request: yamlObject(`
model: claude-opus-4-6
max_tokens: 4000
system:
- { type: text, text: "x-anthropic-billing-header: cc_version=2" }
- { type: text, text: Be brief., cache_control: { type: ephemeral, ttl: "1h" } }
messages: [{ role: user, content: [{ type: text, text: Hello, cache_control: { type: ephemeral } }] }]
tools:
- name: weather
  description: Looks outside
  input_schema: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
  strict: true
  defer_loading: true
  input_examples: [{ city: Rome }]
  cache_control: { type: ephemeral, ttl: "5m" }
- { type: custom, name: any, input_schema: { "$schema": s, type: object }, eager_input_streaming: true }
- { type: bash_20250124, name: bash }
- { type: text_editor_20250728, name: str_replace_based_edit_tool, max_characters: 1000 }
- { type: web_search_20250305, name: web_search, max_uses: 5 }
- { type: computer_toolset_20260801 }
tool_choice: { type: auto, disable_parallel_tool_use: true }
thinking: { type: enabled, budget_tokens: 2000, display: summarized }
output_config:
  effort: high
  format:
    type: json_schema
    schema: { type: object, properties: { name: { type: string } }, required: [name], additionalProperties: false }
  task_budget: { type: tokens, total: 10 }
stop_sequences: [END]
temperature: 1
service_tier: standard_only
metadata: { user_id: u-1 }
context_management: { edits: [{ type: clear_thinking_20251015 }] }
container: container_1
mcp_servers: [{ type: url, name: m, url: "https://m.example" }]
inference_geo: eu
speed: fast
stream: true
`),
  },
  {
    name: "sampling of an older model",
    request: {
      model: "claude-3-5-sonnet-20241022",
      max_tokens: 100,
      messages: [fromUser([textPart("Hi")])],
      temperature: 0.3,
      top_p: 0.9,
      top_k: 40,
      cache_control: { type: "ephemeral" },
    },
  },
  {
    name: "every block of a conversation",
    request: yamlObject(`
model: claude-opus-5
max_tokens: 4000
thinking: { type: adaptive, display: omitted }
output_config: { effort: max }
tool_choice: { type: none }
tools: [{ name: look, input_schema: { type: object, properties: {} } }, { type: web_search_20260209, name: web_search }]
messages:
- role: user
  content:
  - { type: text, text: Look }
  - { type: image, source: { type: base64, media_type: "image/png", data: "AA==" }, cache_control: { type: ephemeral } }
  - { type: image, source: { type: url, url: "https://a.example/b.png" } }
  - { type: image, source: { type: file, file_id: file_1 } }
  - type: document
    source: { type: base64, media_type: "application/pdf", data: "AA==" }
    title: Paper
    context: From the desk
    citations: { enabled: true }
  - { type: document, source: { type: text, media_type: "text/plain", data: Words } }
  - { type: document, source: { type: content, content: [{ type: text, text: Part }] }, title: Parts }
  - { type: search_result, source: "https://s.example", title: Found, content: [{ type: text, text: This }] }
  - { type: container_upload, file_id: file_2 }
- role: assistant
  content:
  - { type: thinking, thinking: I must look, signature: c2ln }
  - { type: redacted_thinking, data: cmVk }
  - type: text
    text: Looking
    citations: [{ type: char_location, cited_text: Words, document_index: 1, document_title: null, start_char_index: 0, end_char_index: 5 }]
  - { type: server_tool_use, id: srvtoolu_1, name: web_search, input: { query: q } }
  - type: web_search_tool_result
    tool_use_id: srvtoolu_1
    content: [{ type: web_search_result, url: "https://w.example", title: W, encrypted_content: ZW5j, page_age: null }]
  - { type: tool_use, id: toolu_1, name: look, input: { at: sky }, caller: { type: direct } }
  - { type: tool_use, id: toolu_2, name: look, input: {}, toolset_name: eyes }
- role: user
  content:
  - type: tool_result
    tool_use_id: toolu_1
    content:
    - { type: text, text: Blue }
    - { type: image, source: { type: base64, media_type: "image/jpeg", data: "AA==" } }
    - { type: tool_reference, tool_name: look }
  - type: tool_result
    tool_use_id: toolu_2
    content: [{ type: text, text: No such place }]
    is_error: true
    cache_control: { type: ephemeral }
  - { type: text, text: "And now?" }
- role: system
  content: [{ type: text, text: The date has changed. }, { type: tool_addition, tool: { type: tool_reference, name: look } }]
`),
  },
  {
    name: "another gateway's model",
    service: "gateway",
    request: yamlObject(`
model: fast
max_tokens: 100
system: [{ type: text, text: Be brief. }]
messages: [{ role: user, content: [{ type: text, text: Hi }] }, { role: system, content: [{ type: text, text: Now. }] }]
thinking: { type: disabled }
temperature: 0.5
top_p: 0.5
`),
  },
  {
    name: "a message with everything",
    answer: yamlObject(`
id: msg_1
type: message
role: assistant
model: claude-x
content:
- { type: thinking, thinking: Hm, signature: c2ln }
- { type: redacted_thinking, data: cmVk }
- { type: thinking, thinking: "", signature: "b21pdHRlZA==" }
- type: text
  text: Sunny
  citations: [{ type: web_search_result_location, url: "https://w.example", title: Weather, cited_text: sun, encrypted_index: ZW5j }]
- { type: server_tool_use, id: srvtoolu_1, name: web_search, input: { query: q } }
- { type: compaction, content: Summary }
- { type: tool_use, id: toolu_1, name: weather, input: { city: Rome }, caller: { type: direct } }
stop_reason: tool_use
stop_sequence: null
stop_details: null
container: { id: container_1, expires_at: "2027-01-01T00:00:00Z" }
usage:
  input_tokens: 12
  cache_creation_input_tokens: 5
  cache_read_input_tokens: 100
  cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 0 }
  output_tokens: 30
  service_tier: standard
  output_tokens_details: { thinking_tokens: 9 }
  server_tool_use: { web_search_requests: 1 }
`),
  },
  {
    name: "counts of a compatible server",
    answer: {
      id: "x",
      model: "glm",
      content: [textPart("Hi")],
      stop_reason: "end_turn",
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  {
    name: "text in pieces with pings",
    stream: sseBytes(
      start(),
      { type: "ping" },
      ...block(0, TEXT, said("Sun"), said(""), said("ny ☀️")),
      { type: "something_new", index: 9 },
      ...end("end_turn"),
    ),
  },
  {
    name: "thinking, text and calls",
    stream: sseBytes(
      start(),
      ...block(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "I must" },
        { type: "thinking_delta", thinking: " look" },
        { type: "signature_delta", signature: "c2ln" },
      ),
      ...block(1, { type: "redacted_thinking", data: "cmVk" }),
      ...block(2, TEXT, said("Let me look.")),
      ...block(3, CALL, json(""), json('{"city":'), json('"Köln"}')),
      ...block(4, { ...CALL, id: "toolu_2" }, json("")),
      ...block(5, { ...CALL, id: "toolu_3", input: { city: "Rome" } }),
      ...end("tool_use"),
    ),
  },
  {
    name: "a server tool and citations",
    stream: sseBytes(
      start(),
      ...block(
        0,
        {
          type: "server_tool_use",
          id: "srvtoolu_1",
          name: "web_search",
          input: {},
        },
        json('{"query":'),
        json('"sun"}'),
      ),
      ...block(1, {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: [],
      }),
      ...block(
        2,
        { type: "text", text: "", citations: [] },
        {
          type: "citations_delta",
          citation: {
            type: "web_search_result_location",
            url: "https://w.example",
            title: null,
            cited_text: "sun",
            encrypted_index: "ZW5j",
          },
        },
        said("Sunny"),
      ),
      ...block(
        3,
        { type: "compaction", content: null },
        { type: "compaction_delta", content: "So " },
        { type: "compaction_delta", content: "far" },
      ),
      ...end("pause_turn", {
        output_tokens: 30,
        server_tool_use: { web_search_requests: 1 },
      }),
    ),
  },
  {
    name: "blocks that overlap",
    stream: sseBytes(
      start(),
      { type: "content_block_start", index: 0, content_block: CALL },
      {
        type: "content_block_start",
        index: 1,
        content_block: { ...CALL, id: "toolu_2" },
      },
      { type: "content_block_delta", index: 1, delta: json('{"city":"B"}') },
      { type: "content_block_delta", index: 0, delta: json('{"city":"A"}') },
      { type: "content_block_stop", index: 1 },
      { type: "content_block_stop", index: 0 },
      ...end("tool_use"),
    ),
  },
  {
    name: "counts that come last",
    stream: sseBytes(
      start({ input_tokens: 0, output_tokens: 0 }),
      ...block(0, TEXT, said("Hi")),
      ...end("end_turn", {
        input_tokens: 40,
        cache_read_input_tokens: 10,
        cache_creation_input_tokens: 2,
        output_tokens: 3,
      }),
      "[DONE]",
    ),
  },
  {
    name: "a server that leaves things out",
    stream: sseBytes(
      { type: "message_start", message: {} },
      { type: "content_block_start", content_block: { type: "text" } },
      { type: "content_block_delta", delta: said("A") },
      {
        type: "content_block_start",
        content_block: { type: "tool_use", name: "weather" },
      },
      { type: "message_delta", usage: { input_tokens: 3, output_tokens: 2 } },
      { type: "message_stop" },
    ),
  },
];
