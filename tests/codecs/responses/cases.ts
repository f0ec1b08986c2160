import type { JsonObject } from "../../../src/base/json.ts";
import type { ContractCase } from "../../contract/codec_contract.ts";
import { added, at, done, event } from "../../support/wire/responses_events.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { closedSchema } from "../../support/wire/schemas.ts";
import { yamlObject } from "../../support/yaml.ts";

const SCHEMA = closedSchema("city");

const WEATHER = {
  type: "function",
  name: "weather",
  description: "Looks outside",
  parameters: SCHEMA,
  strict: true,
};

const USAGE = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 20, cache_write_tokens: 4 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 42,
};

function text(value: string): JsonObject {
  return { type: "output_text", text: value, annotations: [], logprobs: [] };
}

function message(id: string, ...content: JsonObject[]): JsonObject {
  return {
    id,
    type: "message",
    role: "assistant",
    status: "completed",
    content,
  };
}

/** Returns an item of a request: a message of one text. */
function says(role: string, text: string): JsonObject {
  return { type: "message", role, content: [{ type: "input_text", text }] };
}

/** Returns a response object. */
function response(fields: JsonObject): JsonObject {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    model: "gpt-x",
    output: [],
    error: null,
    incomplete_details: null,
    usage: USAGE,
    ...fields,
  };
}

const CREATED = event("created", {
  response: response({ status: "in_progress", usage: null }),
});

function completed(output: JsonObject[]): JsonObject {
  return event("completed", { response: response({ output }) });
}

const REASONING = {
  id: "rs_1",
  type: "reasoning",
  summary: [
    { type: "summary_text", text: "First I look." },
    { type: "summary_text", text: "Then I answer." },
  ],
  encrypted_content: "gAAAAsecret",
};

const CALL = {
  id: "fc_1",
  type: "function_call",
  status: "completed",
  call_id: "call_1",
  name: "weather",
  namespace: "outside",
  arguments: '{"city":"Köln"}',
};

const PATCH = {
  id: "ctc_1",
  type: "custom_tool_call",
  status: "completed",
  call_id: "call_2",
  name: "apply_patch",
  input: "*** Begin Patch",
};

const SEARCH = {
  id: "ws_1",
  type: "web_search_call",
  status: "completed",
  action: { type: "search", query: "köln" },
};

const ANNOTATION = {
  type: "url_citation",
  url: "https://example.com",
  title: "Weather",
  start_index: 0,
  end_index: 9,
};

const CITED = {
  ...text("It rains."),
  annotations: [
    ANNOTATION,
    { type: "file_citation", file_id: "file-1", index: 3 },
  ],
};

/** Exchanges from the protocol's documentation. */
export const RESPONSES_CASES: readonly ContractCase[] = [
  {
    name: "every setting",
    service: "gateway",
    request: yamlObject(`
model: gpt-4.1
stream: true
store: false
instructions: Be brief.
input:
- { type: message, role: system, content: [{ type: input_text, text: Speak English. }] }
- { type: message, role: developer, content: [{ type: input_text, text: No jokes. }] }
- { type: message, role: user, content: [{ type: input_text, text: Hello }] }
tools:
- type: function
  name: weather
  description: Looks outside
  parameters: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
  strict: true
  defer_loading: true
- { type: custom, name: apply_patch, description: Changes files, format: { type: grammar, syntax: lark, definition: "start: /.+/" } }
- { type: custom, name: note }
- type: namespace
  name: outside
  description: The world
  tools:
  - type: function
    name: weather
    description: Looks outside
    parameters: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
    strict: true
  - { type: custom, name: shout }
  - { type: future }
- { type: web_search, external_web_access: true }
- type: tool_search
  execution: client
  description: Finds tools
  parameters: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
- { type: local_shell }
- { type: shell }
- { type: apply_patch }
tool_choice: auto
parallel_tool_calls: false
text:
  format:
    type: json_schema
    name: city
    description: A city
    schema: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
    strict: true
  verbosity: low
  future: 1
reasoning: { effort: high, summary: detailed, context: all_turns, mode: pro }
max_output_tokens: 900
temperature: 0.5
top_p: 0.9
service_tier: flex
user: user-1
safety_identifier: person-1
prompt_cache_key: thread-1
metadata: { team: red }
include: [reasoning.encrypted_content, message.output_text.logprobs]
truncation: auto
top_logprobs: 3
max_tool_calls: 4
stream_options: { include_obfuscation: false }
client_metadata: { session: "1" }
context_management: [{ type: compaction, compact_threshold: 1000 }]
`),
  },
  {
    name: "content of every kind",
    request: yamlObject(`
model: gpt-5.6
store: false
include: [reasoning.encrypted_content]
input:
- type: message
  role: user
  content:
  - { type: input_text, text: Look, prompt_cache_breakpoint: { mode: explicit, ttl: "12h" } }
  - { type: input_image, image_url: "https://example.com/a.png", detail: original }
  - { type: input_image, image_url: "data:image/png;base64,aGk=" }
  - { type: input_image, file_id: file-1 }
  - { type: input_file, filename: a.pdf, file_data: "data:application/pdf;base64,aGk=" }
  - { type: input_file, file_url: "https://example.com/a.pdf" }
  - { type: input_file, file_id: file-2 }
  - { type: input_video, video_url: "https://example.com/a.mp4" }
`),
  },
  {
    name: "a tool loop with reasoning",
    request: yamlObject(`
model: gpt-5.4
store: false
include: [reasoning.encrypted_content]
input:
- { type: message, role: user, content: [{ type: input_text, text: "Weather?" }] }
- id: rs_1
  type: reasoning
  summary: [{ type: summary_text, text: First I look. }, { type: summary_text, text: Then I answer. }]
  encrypted_content: gAAAAsecret
- { type: message, id: msg_1, phase: commentary, role: assistant, content: [{ type: output_text, text: Let me look. }] }
- { id: fc_1, type: function_call, status: completed, call_id: call_1, name: weather, namespace: outside, arguments: "{\\"city\\":\\"Köln\\"}" }
- { id: ctc_1, type: custom_tool_call, status: completed, call_id: call_2, name: apply_patch, input: "*** Begin Patch" }
- { type: function_call_output, call_id: call_1, output: rain }
- type: custom_tool_call_output
  call_id: call_2
  output: [{ type: input_text, text: done }, { type: input_image, image_url: "data:image/png;base64,aGk=" }]
- type: message
  role: assistant
  phase: final_answer
  content: [{ type: output_text, text: Rain. }, { type: refusal, refusal: No more. }]
- { type: message, role: assistant, content: [{ type: output_text, text: That is all. }] }
- { type: message, role: user, content: [{ type: input_text, text: Thanks }] }
tools:
- type: function
  name: weather
  description: Looks outside
  parameters: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
  strict: true
tool_choice: { type: function, name: weather }
`),
  },
  {
    name: "typed tools in the history",
    request: yamlObject(`
model: gpt-5.4
store: false
include: [reasoning.encrypted_content]
input:
- { type: message, role: user, content: [{ type: input_text, text: Go }] }
- { type: tool_search_call, id: tsc_1, call_id: call_1, execution: client, status: completed, arguments: { query: weather } }
- type: tool_search_output
  call_id: call_1
  execution: client
  status: completed
  tools:
  - type: function
    name: weather
    description: Looks outside
    parameters: { type: object, properties: { city: { type: string } }, required: [city], additionalProperties: false }
    strict: true
- { type: local_shell_call, id: lsh_1, call_id: call_2, status: completed, action: { type: exec, command: [ls], env: {} } }
- { type: local_shell_call_output, id: call_2, output: a.txt }
- { type: shell_call, call_id: call_3, status: completed, action: { commands: [ls, pwd] } }
- type: shell_call_output
  call_id: call_3
  output: [{ stdout: a.txt, stderr: "", outcome: { type: exit, exit_code: 0 } }, { stdout: "", stderr: slow, outcome: { type: timeout } }]
- { type: apply_patch_call, call_id: call_4, status: completed, operation: { type: delete_file, path: a.txt } }
- { type: apply_patch_call_output, call_id: call_4, status: failed, output: no such file }
tools: [{ type: shell }]
tool_choice: { type: shell }
`),
  },
  {
    name: "items that only this protocol has",
    request: {
      model: "gpt-5.4",
      store: false,
      include: ["reasoning.encrypted_content"],
      input: [
        { type: "additional_tools", role: "developer", tools: [WEATHER] },
        { type: "compaction", id: "cmp_1", encrypted_content: "gAAAA" },
        { type: "configuration_update", reasoning: { effort: "low" } },
        says("user", "Go"),
        SEARCH,
        { type: "future_item", anything: [1, { two: 3 }] },
        { type: "compaction_trigger" },
      ],
      tool_choice: "none",
      parallel_tool_calls: true,
    },
  },
  {
    name: "a list of allowed tools",
    request: {
      model: "gpt-4.1",
      store: false,
      input: [says("user", "Go")],
      tools: [WEATHER, { type: "web_search" }],
      tool_choice: {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "weather" }],
      },
    },
  },
  {
    name: "a list that names a tool of the upstream's own",
    request: yamlObject(`
model: gpt-4.1
store: false
input: [{ type: message, role: user, content: [{ type: input_text, text: Go }] }]
tools: [{ type: web_search }]
tool_choice: { type: allowed_tools, mode: auto, tools: [{ type: web_search }] }
`),
  },
  {
    name: "what the Codex back end takes",
    service: "codex",
    request: {
      model: "gpt-5.4",
      stream: true,
      store: false,
      instructions: "You are Codex.",
      input: [says("developer", "Be brief.")],
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "none" },
      service_tier: "priority",
      prompt_cache_key: "thread-1",
    },
  },
  {
    name: "an answer with everything",
    answer: response({
      output: [
        REASONING,
        SEARCH,
        {
          ...message("msg_1", CITED, { type: "refusal", refusal: "No." }),
          phase: "final_answer",
        },
        message("msg_2", text("Bye.")),
        CALL,
        PATCH,
        {
          type: "shell_call",
          id: "sh_1",
          call_id: "call_5",
          status: "completed",
          action: { commands: ["ls"] },
        },
      ],
      service_tier: "default",
    }),
  },
  {
    name: "an answer cut by the token limit",
    answer: response({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [message("msg_1", text("Once upon"))],
    }),
  },
  {
    name: "a stream as the document has it",
    stream: sseBytes(
      CREATED,
      event("in_progress", { response: response({ status: "in_progress" }) }),
      added(0, { ...REASONING, summary: [], encrypted_content: "gAA" }),
      ...REASONING.summary.flatMap((part, summary_index) => {
        const place = { item_id: "rs_1", output_index: 0, summary_index };
        return [
          event("reasoning_summary_part.added", {
            ...place,
            part: { ...part, text: "" },
          }),
          event("reasoning_summary_text.delta", {
            ...place,
            delta: part.text.slice(0, 5),
          }),
          event("reasoning_summary_text.delta", {
            ...place,
            delta: part.text.slice(5),
          }),
          event("reasoning_summary_text.done", { ...place, text: part.text }),
          event("reasoning_summary_part.done", { ...place, part }),
        ];
      }),
      done(0, REASONING),
      added(1, message("msg_1")),
      event("content_part.added", { ...at(1, 0, "msg_1"), part: text("") }),
      event("output_text.delta", { ...at(1, 0, "msg_1"), delta: "It rains." }),
      event("output_text.annotation.added", {
        ...at(1, 0, "msg_1"),
        annotation_index: 0,
        annotation: ANNOTATION,
      }),
      event("output_text.done", { ...at(1, 0, "msg_1"), text: "It rains." }),
      event("content_part.done", { ...at(1, 0, "msg_1"), part: CITED }),
      done(1, message("msg_1", CITED)),
      added(2, { ...CALL, status: "in_progress", arguments: "" }),
      event("function_call_arguments.delta", {
        item_id: "fc_1",
        output_index: 2,
        delta: '{"city":',
      }),
      event("function_call_arguments.delta", {
        item_id: "fc_1",
        output_index: 2,
        delta: '"Köln"}',
      }),
      event("function_call_arguments.done", {
        item_id: "fc_1",
        output_index: 2,
        arguments: CALL.arguments,
      }),
      done(2, CALL),
      added(3, { ...PATCH, input: "" }),
      event("custom_tool_call_input.delta", {
        item_id: "ctc_1",
        output_index: 3,
        delta: PATCH.input,
      }),
      event("custom_tool_call_input.done", {
        item_id: "ctc_1",
        output_index: 3,
        input: PATCH.input,
      }),
      done(3, PATCH),
      added(4, { ...SEARCH, status: "in_progress" }),
      event("web_search_call.searching", { item_id: "ws_1", output_index: 4 }),
      done(4, SEARCH),
      completed([REASONING, message("msg_1", CITED), CALL, PATCH, SEARCH]),
    ),
  },
  {
    name: "items sent only when they are done, and not at the end (Codex)",
    stream: sseBytes(
      CREATED,
      event("metadata", { anything: 1 }),
      { type: "codex.rate_limits", rate_limits: {} },
      { type: "keepalive", sequence_number: 1 },
      done(0, REASONING),
      done(1, CALL),
      event("completed", { response: { id: "resp_1", usage: USAGE } }),
      "[DONE]",
    ),
  },
  {
    name: "items sent only at the end",
    stream: sseBytes(
      CREATED,
      completed([REASONING, message("m", CITED), CALL]),
    ),
  },
  {
    name: "arguments sent only when they are done",
    stream: sseBytes(
      CREATED,
      added(0, { ...CALL, arguments: "" }),
      event("function_call_arguments.done", {
        output_index: 0,
        arguments: CALL.arguments,
      }),
      completed([CALL]),
    ),
  },
  {
    name: "text without any frame around it",
    stream: sseBytes(
      event("output_text.delta", { delta: "Hello" }),
      event("output_text.delta", { delta: " you" }),
      event("completed", { response: response({}) }),
    ),
  },
  {
    name: "another id in every event",
    stream: sseBytes(
      CREATED,
      added(0, message("a")),
      event("content_part.added", { ...at(0, 0, "b"), part: text("") }),
      event("output_text.delta", { ...at(0, 0, "c"), delta: "Hi" }),
      done(0, message("d", text("Hi"))),
      completed([message("e", text("Hi"))]),
    ),
  },
  {
    name: "interleaved items and raw reasoning",
    stream: sseBytes(
      CREATED,
      added(0, { id: "rs_1", type: "reasoning", summary: [] }),
      event("reasoning_part.added", {
        ...at(0, 0),
        part: { type: "reasoning_text", text: "" },
      }),
      event("reasoning_text.delta", { ...at(0, 0), delta: "Hm" }),
      added(1, message("msg_1")),
      event("content_part.added", { ...at(1, 1), part: text("") }),
      event("output_text.delta", { ...at(1, 1), delta: "4" }),
      event("reasoning_text.delta", { ...at(0, 0), delta: "m." }),
      done(1, message("msg_1", text("4"))),
      done(0, {
        id: "rs_1",
        type: "reasoning",
        summary: [],
        content: [{ type: "reasoning_text", text: "Hmm." }],
      }),
      completed([]),
    ),
  },
  {
    name: "a refusal, and an end for want of tokens",
    stream: sseBytes(
      CREATED,
      added(0, message("msg_1")),
      event("content_part.added", {
        ...at(0, 0),
        part: { type: "refusal", refusal: "" },
      }),
      event("refusal.delta", { ...at(0, 0), delta: "I will" }),
      event("refusal.done", { ...at(0, 0), refusal: "I will not" }),
      event("incomplete", {
        response: response({
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
        }),
      }),
    ),
  },
];
