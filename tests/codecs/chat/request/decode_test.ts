import assert from "node:assert/strict";
import { received } from "../../../support/dialects/upstream_request.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { decodeRequest } from "../../../../src/codecs/chat/request/decode.ts";
import { plain } from "../../../contract/codec_contract.ts";
import {
  fromModel,
  fromUser,
  textPart,
} from "../../../support/wire/messages.ts";
import { call, text, thought, turn } from "../../../support/wire/turns.ts";
import { yamlPairs, yamlTable } from "../../../support/yaml_table.ts";

const MESSAGES = [fromUser("Hi")];

function decode(fields: JsonObject) {
  return decodeRequest({ model: "m", messages: MESSAGES, ...fields });
}

/** Returns the turns of a request with these messages. */
function turns(...messages: JsonObject[]): unknown {
  return plain(decode({ messages }).turns);
}

function faultOf(fields: JsonObject): string | undefined {
  try {
    decode(fields);
  } catch (error) {
    if (error instanceof GatewayError && error.kind === "invalid_request") {
      return error.param;
    }
    throw error;
  }
  return assert.fail("the request was taken");
}

Deno.test("decodeRequest() names the invalid field", () => {
  const faults = yamlTable(`
{ model: 7 } → model
{ messages: [] } → messages
{ messages: Hi } → messages
{ messages: [{ role: bot, content: x }] } → messages[0].role
{ messages: [{ content: x }] } → messages[0].role
{ messages: [{ role: user, content: 7 }] } → messages[0].content
{ messages: [{ role: user, content: [{}] }] } → messages[0].content[0].type
{ messages: [{ role: user, content: [{ type: text }] }] } → messages[0].content[0].text
{ messages: [{ role: user, content: [{ type: image_url }] }] } →
  messages[0].content[0].image_url.url
{ messages: [{ role: user, content: [{ type: image_url, image_url: { url: "data:,x" } }] }] } →
  messages[0].content[0].image_url.url
{ messages: [{ role: user, content: [{ type: file }] }] } → messages[0].content[0].file.file_data
{ messages: [{ role: user, content: [{ type: input_audio }] }] } →
  messages[0].content[0].input_audio.format
{ messages: [{ role: tool, content: x }] } → messages[0].tool_call_id
{ messages: [{ role: assistant, tool_calls: [{ function: { name: f } }] }] } →
  messages[0].tool_calls[0].id
{ messages: [{ role: assistant, tool_calls: [{ id: "1" }] }] } → messages[0].tool_calls[0].function
{ tools: [{ type: function }] } → tools[0].function
{ tools: [{ type: custom }] } → tools[0].custom
{ tools: [{ type: function, function: {} }] } → tools[0].function.name
{ tool_choice: sometimes } → tool_choice
{ response_format: { type: xml } } → response_format.type
{ verbosity: loud } → verbosity
{ temperature: hot } → temperature
{ max_tokens: 0 } → max_tokens
{ stop: 7 } → stop
`);
  for (const [row, fields, param] of faults) {
    assert.equal(faultOf(fields), param, row);
  }
});

Deno.test("decodeRequest() treats null as absent", () => {
  const nothing = decode({
    stream: null,
    tools: null,
    tool_choice: null,
    stop: null,
    temperature: null,
    response_format: null,
    max_tokens: null,
    user: null,
    metadata: null,
    logit_bias: null,
    n: null,
    service_tier: null,
  });
  assert.deepEqual(plain(nothing), plain(decode({})));
});

Deno.test("decodeRequest() keeps system and developer messages at their place", () => {
  assert.deepEqual(
    turns(
      { role: "system", content: "a" },
      fromUser("b"),
      { role: "developer", content: [textPart("c")] },
    ),
    [
      turn("system", text("a")),
      turn("user", text("b")),
      turn("developer", text("c")),
    ],
  );
});

Deno.test("decodeRequest() gathers the results of one round in one turn", () => {
  assert.deepEqual(
    turns(
      { role: "tool", tool_call_id: "1", content: "a" },
      { role: "tool", tool_call_id: "2", content: [textPart("b")] },
    ),
    [turn("tool", {
      kind: "tool_result",
      callId: "1",
      callKind: "function",
      content: [text("a")],
      isError: false,
    }, {
      kind: "tool_result",
      callId: "2",
      callKind: "function",
      content: [text("b")],
      isError: false,
    })],
  );
});

Deno.test("decodeRequest() keeps the order of an earlier answer's blocks, without empty text", () => {
  assert.deepEqual(
    turns({
      role: "assistant",
      content: "",
      reasoning_content: "think",
      refusal: "no",
      tool_calls: [{
        id: "1",
        function: { name: "f", arguments: { a: 1 } },
        extra_content: { google: 1 },
      }],
    }),
    [turn("assistant", thought("think"), { kind: "refusal", text: "no" }, {
      kind: "function_call",
      id: "1",
      name: "f",
      arguments: '{"a":1}',
      sealed: {
        protocol: "chat",
        form: "extra_content",
        value: '{"google":1}',
      },
    })],
  );
});

Deno.test("decodeRequest() reads reasoning in content, in `reasoning` and in envelopes", () => {
  assert.deepEqual(
    turns(
      fromModel([
        { type: "thinking", thinking: [textPart("a")] },
        textPart("b"),
      ]),
      { role: "assistant", content: "c", reasoning: "d" },
    ),
    [
      turn("assistant", thought("a"), text("b")),
      turn("assistant", thought("d"), text("c")),
    ],
  );
});

Deno.test("decodeRequest() reads the deprecated function messages", () => {
  assert.deepEqual(
    turns(
      {
        role: "assistant",
        content: null,
        function_call: { name: "f", arguments: "{}" },
      },
      { role: "function", name: "f", content: "ok" },
    ),
    [
      turn("assistant", call("function_f", "f", "{}")),
      turn("tool", {
        kind: "tool_result",
        callId: "function_f",
        callKind: "function",
        content: [text("ok")],
        isError: false,
      }),
    ],
  );
});

Deno.test("decodeRequest() recognizes the result of a custom call", () => {
  const [, tool] = decode({
    messages: [
      {
        role: "assistant",
        tool_calls: [{
          id: "1",
          type: "custom",
          custom: { name: "p", input: "x" },
        }],
      },
      { role: "tool", tool_call_id: "1", content: "ok" },
    ],
  }).turns;
  const [result] = tool?.blocks ?? [];
  assert.equal(result?.kind === "tool_result" ? result.callKind : "", "custom");
});

Deno.test("decodeRequest() reads cache marks of parts, messages and tools", () => {
  const request = decode({
    messages: [
      { role: "system", content: "a", cache_control: { type: "ephemeral" } },
      fromUser([
        {
          type: "text",
          text: "b",
          cache_control: { type: "ephemeral", ttl: "1h" },
        },
        {
          type: "text",
          text: "c",
          prompt_cache_breakpoint: { mode: "explicit", ttl: "30m" },
        },
      ]),
    ],
    tools: [{
      type: "function",
      function: { name: "f" },
      cache_control: { type: "ephemeral", ttl: "5m" },
    }],
  });
  const marks = request.turns.flatMap(({ blocks }) => blocks)
    .map((block) => "cache" in block ? plain(block.cache) : 0);
  assert.deepEqual(marks, [{}, { ttlSeconds: 3600 }, { ttlSeconds: 1800 }]);
  const [tool] = request.tools;
  assert.deepEqual(tool?.kind === "function" ? tool.cache : undefined, {
    ttlSeconds: 300,
  });
});

Deno.test("decodeRequest() reads every spelling of the reasoning settings", () => {
  const settings: [fields: JsonObject, reasoning: unknown][] = [
    [{}, undefined],
    [{ reasoning_effort: "none" }, { mode: "off" }],
    [{ reasoning_effort: "high" }, { effort: "high" }],
    [{ reasoning_effort: "default" }, undefined],
    [{ thinking: { type: "disabled" } }, { mode: "off" }],
    [{ thinking: { type: "enabled" } }, { mode: "adaptive" }],
    [{ thinking: { type: "enabled" }, reasoning_effort: "low" }, {
      mode: "adaptive",
      effort: "low",
    }],
    [{ reasoning: { effort: "low" } }, { effort: "low" }],
    [{ reasoning: { enabled: false } }, { mode: "off" }],
    [{ reasoning: { enabled: true } }, { mode: "adaptive" }],
    [{ reasoning: { max_tokens: 2000 } }, {
      mode: "budget",
      budgetTokens: 2000,
    }],
    [{ thinking: { type: "enabled", budget_tokens: 2000 } }, {
      mode: "budget",
      budgetTokens: 2000,
    }],
    [{
      thinking: { type: "enabled", budget_tokens: 2000 },
      reasoning_effort: "low",
    }, { mode: "budget", budgetTokens: 2000, effort: "low" }],
    [{ thinking: { type: "disabled", budget_tokens: 2000 } }, { mode: "off" }],
  ];
  for (const [fields, reasoning] of settings) {
    assert.deepEqual(
      decode(fields).reasoning,
      reasoning,
      JSON.stringify(fields),
    );
  }
});

Deno.test("decodeRequest() reads tool choices in every form", () => {
  const choices = yamlPairs(`
a word: auto → { type: auto }
another word: any → { type: required }
a function: { type: function, function: { name: f } } → { type: tool, tool: { kind: function,
  name: f } }
a function by its name: { type: function, name: f } → { type: tool, tool: { kind: function,
  name: f } }
a custom tool: { type: custom, custom: { name: p } } → { type: tool, tool: { kind: custom,
  name: p } }
a list: { type: allowed_tools, allowed_tools: { mode: required, tools: [{ type: function,
  function: { name: f } }, 7] } } → { type: allowed, mode: required, tools: [{ kind: function,
  name: f }] }
a list without a mode: { type: allowed_tools, tools: [{ type: function, name: f }] } →
  { type: allowed, mode: auto, tools: [{ kind: function, name: f }] }
a tool of the provider: { type: web_search } → { type: hosted, protocol: chat,
  value: { type: web_search } }
`);
  for (const [name, choice, expected] of choices) {
    const { toolChoice } = decode({ tool_choice: choice });
    assert.deepEqual(toolChoice, expected, name);
  }
});

Deno.test("decodeRequest() reads formats and service tiers", () => {
  assert.equal(decode({ response_format: { type: "text" } }).format, undefined);
  assert.deepEqual(
    decode({ response_format: { type: "json_object" } }).format,
    { type: "json" },
  );
  assert.deepEqual(
    plain(decode({ response_format: { type: "json_schema" } }).format),
    { type: "schema", schema: {} },
  );
  assert.equal(
    decode({ service_tier: "default" }).serviceTier?.tier,
    "standard",
  );
  assert.equal(decode({ service_tier: "scale" }).serviceTier?.tier, "priority");
  assert.equal(decode({ service_tier: "on_demand" }).serviceTier?.tier, "auto");
});

Deno.test("decodeRequest() reads settings that only OpenAI has into canonical fields", () => {
  const options = { mode: "explicit" };
  const { extras, ...request } = decode({
    logprobs: true,
    top_logprobs: 5,
    prompt_cache_options: options,
    prompt_cache_retention: "24h",
    safety_identifier: "x",
  });
  const protocol = "chat";
  assert.deepEqual(extras.chat, {});
  assert.deepEqual(request.logprobs, { top: 5 });
  assert.deepEqual(request.cacheOptions, { protocol, value: options });
  assert.deepEqual(request.cacheRetention, { protocol, value: "24h" });
  assert.deepEqual(request.safetyIdentifier, { protocol, value: "x" });
  assert.equal(request.user, "x");
});

Deno.test("decodeRequest() gives each field that only Chat has a weight", () => {
  const weights: [field: string, value: JsonObject[string], weight: string][] =
    [
      ["n", 1, "ignore"],
      ["n", 2, "reject"],
      ["logprobs", false, "ignore"],
      ["top_logprobs", 0, "ignore"],
      ["top_logprobs", 5, "reject"],
      ["logit_bias", {}, "ignore"],
      ["logit_bias", { "1": 2 }, "reject"],
      ["modalities", ["text"], "ignore"],
      ["modalities", ["text", "audio"], "reject"],
      ["audio", {}, "reject"],
      ["store", false, "ignore"],
      ["store", true, "report"],
      ["stream_options", {}, "ignore"],
      ["prediction", {}, "report"],
      ["something_new", 1, "report"],
      ["constructor", 1, "report"],
      ["reasoning_effort", "high", "ignore"],
      ["reasoning_effort", "ultra", "report"],
      ["thinking", { type: "enabled" }, "ignore"],
    ];
  for (const [field, value, weight] of weights) {
    const extra = decode({ [field]: value }).extras.chat?.[field];
    assert.deepEqual(
      extra,
      { value, weight },
      `${field} ${JSON.stringify(value)}`,
    );
  }
});

Deno.test("decodeRequest() keeps a tool of an unknown type as a hosted tool of Chat", () => {
  const tool = { type: "openrouter:web_search", parameters: {} };
  assert.deepEqual(decode({ tools: [tool] }).tools, [
    {
      kind: "hosted",
      protocol: "chat",
      type: "openrouter:web_search",
      value: tool,
    },
  ]);
});

Deno.test("decodeRequest() reads a deeply nested value without exhausting the stack", () => {
  let deep: JsonObject = {};
  for (let depth = 0; depth < 20_000; depth++) deep = { a: deep };
  assert.equal(decode({ prediction: deep }).model, "m");
});

Deno.test("decodeRequest() recognizes the type of a file in bare base64", () => {
  const decoded = decode({
    messages: [fromUser([
      { type: "file", file: { filename: "a.pdf", file_data: "JVBERi0x" } },
      { type: "file", file: { filename: "a.txt", file_data: "aGk=" } },
      { type: "image_url", image_url: { url: "iVBORw0KGgoAAAAN" } },
    ])],
  });
  assert.deepEqual(
    decoded.turns.flatMap(({ blocks }) => blocks).map((block) =>
      "source" in block && block.source.type === "base64"
        ? block.source.mediaType
        : undefined
    ),
    ["application/pdf", "text/plain", "image/png"],
  );
});

Deno.test("thinking blocks in LiteLLM's form return to Claude unchanged", () => {
  const { body, dropped } = received(
    "chat",
    "messages anthropic claude-sonnet-4-5",
    {
      messages: [
        fromUser("Hello"),
        {
          role: "assistant",
          content: "Hi.",
          reasoning_content: "Hm.",
          thinking_blocks: [
            { type: "thinking", thinking: "Hm.", signature: "c2ln" },
            { type: "redacted_thinking", data: "cmVk" },
            { type: "thinking" },
            7,
          ],
        },
        fromUser("And?"),
      ],
    },
  );
  assert.ok(Array.isArray(body.messages));
  assert.deepEqual(
    body.messages[1],
    fromModel([
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "redacted_thinking", data: "cmVk" },
      textPart("Hi."),
    ]),
  );
  assert.deepEqual(dropped, []);
});
