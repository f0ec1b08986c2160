import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/error.ts";
import type { JsonObject, JsonValue } from "../../../../src/base/json.ts";
import type { CanonicalRequest } from "../../../../src/codecs/canonical/request/request.ts";
import { wrapSealed } from "../../../../src/codecs/canonical/content/sealed.ts";
import { decodeRequest } from "../../../../src/codecs/messages/request/decode.ts";
import { plain } from "../../../contract/codec_contract.ts";
import {
  fromModel,
  fromUser,
  textPart,
} from "../../../support/wire/messages.ts";
import { call, text, turn } from "../../../support/wire/turns.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

function decode(fields: JsonObject = {}): CanonicalRequest {
  return decodeRequest({
    model: "m",
    max_tokens: 100,
    messages: [fromUser("Hi")],
    ...fields,
  });
}

function turns(messages: JsonValue[], fields: JsonObject = {}): unknown {
  return plain(decode({ messages, ...fields }).turns);
}

Deno.test("decodeRequest() reads a request of a model, a limit and a text", () => {
  assert.deepEqual(plain(decode()), {
    model: "m",
    stream: false,
    turns: [turn("user", text("Hi"))],
    tools: [],
    maxOutputTokens: 100,
    sampling: {},
    extras: { messages: {} },
  });
});

Deno.test("decodeRequest() puts `system` first, and keeps system messages at their place", () => {
  const messages = [
    fromUser("a"),
    { role: "system", content: "b" },
    fromModel([textPart("c")]),
  ];
  assert.deepEqual(turns(messages, { system: "s" }), [
    turn("system", text("s")),
    turn("user", text("a")),
    turn("system", text("b")),
    turn("assistant", text("c")),
  ]);
});

Deno.test("decodeRequest() keeps the note for Anthropic's billing only for Messages upstreams", () => {
  const note = textPart("x-anthropic-billing-header: cc_version=2;");
  const [system] = decode({ system: [note, textPart("s")] }).turns;
  assert.deepEqual(plain(system?.blocks), [
    {
      kind: "opaque",
      protocol: "messages",
      type: "text",
      value: note,
      weight: "ignore",
    },
    text("s"),
  ]);
});

Deno.test("decodeRequest() moves the tool results of a user message into a turn before it", () => {
  const content = [
    textPart("late"),
    {
      type: "tool_result",
      tool_use_id: "x",
      content: "out",
      is_error: true,
      cache_control: { type: "ephemeral" },
    },
    { type: "tool_result", tool_use_id: "y", toolset_name: "z" },
  ];
  const result = { kind: "tool_result", callKind: "function" } as const;
  assert.deepEqual(turns([{ role: "user", content }]), [
    turn("tool", {
      ...result,
      callId: "x",
      content: [text("out")],
      isError: true,
      cache: {},
    }, {
      ...result,
      callId: "y",
      content: [],
      isError: false,
      providerMetadata: { messages: { toolset_name: "z" } },
    }),
    turn("user", text("late")),
  ]);
});

Deno.test("decodeRequest() keeps every kind of content in a tool result", () => {
  const content = [
    textPart("t"),
    {
      type: "image",
      source: { type: "base64", media_type: "image/JPG", data: "AA==" },
    },
    { type: "tool_reference", tool_name: "Fetch" },
    { type: "browser_state", tabs: [] },
    {
      type: "search_result",
      source: "https://s.example",
      title: "S",
      content: [textPart("found")],
    },
  ];
  const [turn] = decode({
    messages: [fromUser([{ type: "tool_result", tool_use_id: "x", content }])],
  }).turns;
  const [result] = turn?.blocks ?? [];
  assert.ok(result?.kind === "tool_result");
  const [first, second, ...others] = result.content;
  assert.deepEqual(plain(first), text("t"));
  assert.deepEqual(plain(second), {
    kind: "image",
    source: { type: "base64", mediaType: "image/jpeg", data: "AA==" },
  });
  assert.deepEqual(
    others.map((block) =>
      block.kind === "opaque" && [block.type, block.text, block.weight]
    ),
    [
      ["tool_reference", "Fetch", "report"],
      ["browser_state", undefined, "report"],
      ["search_result", "https://s.example\nS\nfound", "reject"],
    ],
  );
});

Deno.test("decodeRequest() writes a call's arguments as text, in the caller's order of keys", () => {
  const content = [
    { type: "tool_use", id: "x", name: "f", input: { b: 1, a: 2 } },
    {
      type: "tool_use",
      id: "y",
      name: "g",
      input: {},
      caller: { type: "direct" },
    },
  ];
  assert.deepEqual(turns([{ role: "assistant", content }]), [
    turn("assistant", call("x", "f", '{"b":1,"a":2}'), {
      kind: "function_call",
      id: "y",
      name: "g",
      arguments: "{}",
      providerMetadata: { messages: { caller: { type: "direct" } } },
    }),
  ]);
});

Deno.test("decodeRequest() keeps the signature of thinking, and opens envelopes", () => {
  const sealed = {
    protocol: "responses",
    form: "encrypted_content",
    value: "enc",
    origin: "connection-1",
  } as const;
  const content = [
    { type: "thinking", thinking: "a", signature: "c2ln" },
    { type: "thinking", thinking: "", signature: wrapSealed(sealed) },
    { type: "thinking", thinking: "b", signature: wrapSealed() },
    { type: "thinking", thinking: "c" },
    { type: "redacted_thinking", data: "cmVk" },
  ];
  const raw = (value: string) => [{ form: "raw", text: value } as const];
  assert.deepEqual(turns([{ role: "assistant", content }]), [turn(
    "assistant",
    {
      kind: "reasoning",
      parts: raw("a"),
      sealed: { protocol: "messages", form: "signature", value: "c2ln" },
    },
    { kind: "reasoning", parts: [], sealed },
    { kind: "reasoning", parts: raw("b") },
    { kind: "reasoning", parts: raw("c") },
    {
      kind: "reasoning",
      parts: [],
      sealed: { protocol: "messages", form: "redacted", value: "cmVk" },
    },
  )]);
});

Deno.test("decodeRequest() gives blocks of server tools a text for models of other protocols", () => {
  const content = [
    {
      type: "server_tool_use",
      id: "s",
      name: "web_search",
      input: { query: "q" },
    },
    {
      type: "web_search_tool_result",
      tool_use_id: "s",
      content: [{
        type: "web_search_result",
        title: "T",
        url: "https://w.example",
        encrypted_content: "ZW5j",
      }],
    },
    {
      type: "code_execution_tool_result",
      tool_use_id: "s",
      content: { type: "code_execution_result", stdout: "4", return_code: 0 },
    },
    { type: "compaction", content: "so far" },
    { type: "container_state", encrypted: "x" },
  ];
  const [turn] = decode({ messages: [{ role: "assistant", content }] }).turns;
  assert.deepEqual(
    turn?.blocks.map((block) => block.kind === "opaque" && block.text),
    [
      '[called web_search with {"query":"q"}]',
      "[web_search_tool_result]\nT\nhttps://w.example",
      "[code_execution_tool_result]\n4\nreturn_code: 0",
      "[summary of the earlier conversation]\nso far",
      undefined,
    ],
  );
});

Deno.test("decodeRequest() reads documents as files, and documents of text blocks as text", () => {
  const source = (value: JsonObject, rest: JsonObject = {}) => {
    const content = [{ type: "document", source: value, ...rest }];
    return decode({ messages: [{ role: "user", content }] }).turns[0]
      ?.blocks[0];
  };
  assert.deepEqual(
    plain(source({ type: "text", media_type: "text/plain", data: "w" }, {
      title: "T",
      citations: { enabled: true },
    })),
    {
      kind: "file",
      source: textPart("w"),
      name: "T",
      isCited: true,
      providerMetadata: { messages: { citations: { enabled: true } } },
    },
  );
  assert.deepEqual(plain(source({ type: "file", file_id: "f" })), {
    kind: "file",
    source: { type: "id", store: "anthropic", id: "f" },
  });
  const parts = source({
    type: "content",
    content: [textPart("p")],
  }, { title: "T" });
  assert.equal(parts?.kind === "opaque" && parts.text, "T\n\np");
  const plainContent = source({ type: "content", content: "q" });
  assert.equal(plainContent?.kind === "opaque" && plainContent.text, "q");
  const url = { type: "url", url: "https://example.com/a.png" };
  const picture = source({
    type: "content",
    content: [textPart("p"), { type: "image", source: url }],
  });
  assert.equal(picture?.kind === "opaque" && picture.text, undefined);
  assert.deepEqual(plain(picture?.kind === "opaque" && picture.content), [
    text("p"),
    { kind: "image", source: url },
  ]);
});

Deno.test("decodeRequest() reads cited pages, and keeps every original citation except the gateway's own", () => {
  const page = {
    type: "web_search_result_location",
    url: "https://w.example",
    title: "W",
    cited_text: "c",
  };
  const own = { ...page, encrypted_index: "" };
  const theirs = { ...page, encrypted_index: "ZW5j" };
  const content = [{ type: "text", text: "t", citations: [own, theirs] }];
  const read = { url: page.url, title: "W", quote: "c" };
  assert.deepEqual(turns([{ role: "assistant", content }]), [turn("assistant", {
    ...text("t"),
    citations: [
      read,
      { ...read, raw: { protocol: "messages", value: theirs } },
    ],
  })]);
});

Deno.test("decodeRequest() keeps the lifetime of cache marks", () => {
  const mark = (ttl?: string) => ({
    type: "text",
    text: "t",
    cache_control: { type: "ephemeral", ...(ttl ? { ttl } : {}) },
  });
  const content = [mark(), mark("5m"), mark("1h")];
  const [turn] = decode({ messages: [{ role: "user", content }] }).turns;
  assert.deepEqual(
    plain(turn?.blocks.map((block) => "cache" in block && block.cache)),
    [{}, { ttlSeconds: 300 }, { ttlSeconds: 3600 }],
  );
  assert.deepEqual(decode({ cache_control: { type: "ephemeral" } }).cache, {});
});

Deno.test("decodeRequest() reads typed tools of the caller as functions, and others as hosted tools", () => {
  const { tools } = decode({
    tools: [
      {
        type: "bash_20250124",
        name: "bash",
        cache_control: { type: "ephemeral" },
      },
      { type: "memory_20250818", name: "memory" },
      { type: "computer_20251124", name: "computer", display_width_px: 800 },
      { type: "web_search_20250305", name: "web_search", max_uses: 2 },
      { type: "computer_toolset_20260801" },
      { type: "mcp_toolset", mcp_server_name: "m" },
    ],
  });
  assert.deepEqual(tools.map(({ kind }) => kind), [
    "function",
    "function",
    "function",
    "hosted",
    "hosted",
    "hosted",
  ]);
  const [bash, , computer] = tools;
  assert.ok(bash?.kind === "function" && computer?.kind === "function");
  assert.equal(bash.name, "bash");
  assert.deepEqual(bash.cache, {});
  assert.deepEqual(plain(bash.parameters), {
    type: "object",
    properties: {
      command: { type: "string", description: "The command to run" },
      restart: { type: "boolean", description: "Restarts the session" },
    },
    required: [],
  });
  assert.deepEqual(computer.providerMetadata?.messages, {
    type: "computer_20251124",
    display_width_px: 800,
  });
});

Deno.test("decodeRequest() reads deferred tools as ordinary tools", () => {
  const { tools } = decode({
    tools: [{
      name: "f",
      description: null,
      input_schema: { type: "object" },
      defer_loading: true,
      strict: true,
    }],
  });
  assert.deepEqual(plain(tools), [{
    kind: "function",
    name: "f",
    parameters: { type: "object" },
    strict: true,
    providerMetadata: { messages: { defer_loading: true } },
  }]);
});

Deno.test("decodeRequest() reads every form of tool_choice, and the switch for parallel calls", () => {
  const tools = [
    { name: "f", input_schema: { type: "object" } },
    { type: "web_search_20250305", name: "web_search" },
  ];
  const choice = (value: JsonObject) => {
    const { toolChoice, parallelTools } = decode({ tools, tool_choice: value });
    return [toolChoice, parallelTools];
  };
  assert.deepEqual(choice({ type: "auto" }), [{ type: "auto" }, undefined]);
  assert.deepEqual(choice({ type: "none" }), [{ type: "none" }, undefined]);
  assert.deepEqual(choice({ type: "any", disable_parallel_tool_use: true }), [
    { type: "required" },
    false,
  ]);
  assert.deepEqual(
    choice({ type: "tool", name: "f", disable_parallel_tool_use: false }),
    [{ type: "tool", tool: { kind: "function", name: "f" } }, true],
  );
  assert.deepEqual(choice({ type: "tool", name: "web_search" })[0], {
    type: "hosted",
    protocol: "messages",
    value: { type: "tool", name: "web_search" },
  });
});

Deno.test("decodeRequest() reads every mode, display and effort of thinking", () => {
  const reasoning = (fields: JsonObject) =>
    plain(decode(fields).reasoning ?? null);
  const thinking = (value: JsonObject) => reasoning({ thinking: value });
  assert.equal(reasoning({}), null);
  assert.deepEqual(
    thinking({ type: "enabled", budget_tokens: 2000, display: "omitted" }),
    { mode: "budget", budgetTokens: 2000, summary: "none" },
  );
  assert.deepEqual(thinking({ type: "adaptive", display: "summarized" }), {
    mode: "adaptive",
    summary: "auto",
  });
  assert.deepEqual(thinking({ type: "disabled" }), { mode: "off" });
  assert.deepEqual(thinking({ type: "between_tools" }), {
    mode: "between_tools",
  });
  assert.deepEqual(reasoning({ output_config: { effort: "max" } }), {
    effort: "max",
  });
});

Deno.test("decodeRequest() keeps an unknown effort for Messages upstreams", () => {
  const { reasoning, extras } = decode({ output_config: { effort: "ultra" } });
  assert.equal(reasoning, undefined);
  assert.deepEqual(extras.messages, {
    output_config: { value: { effort: "ultra" }, weight: "report" },
  });
});

Deno.test("decodeRequest() reads a format from `output_config` and from the older `output_format`", () => {
  const schema = { type: "object" };
  const format = { type: "json_schema", schema };
  const expected = { type: "schema", schema, strict: "wanted" };
  assert.deepEqual(decode({ output_config: { format } }).format, expected);
  assert.deepEqual(decode({ output_format: format }).format, expected);
});

Deno.test("decodeRequest() reads the conversation from the session of Claude Code", () => {
  const key = (user_id: string) =>
    decode({ metadata: { user_id } }).conversation;
  assert.equal(key('{"device_id":"d","session_id":"s-1"}'), "s-1");
  assert.equal(key("user_ab_account__session_0f-1"), "0f-1");
  assert.equal(key("anna"), undefined);
  assert.equal(decode({ metadata: { user_id: "anna" } }).user, "anna");
});

Deno.test("decodeRequest() keeps fields that only Messages has, with a weight", () => {
  const { extras } = decode({
    context_management: { edits: [] },
    mcp_servers: [],
    inference_geo: "eu",
    speed: "standard",
    metadata: { user_id: "u", team: "t" },
    future_field: 1,
    container: null,
  });
  const weights = Object.entries(extras.messages ?? {})
    .map(([name, { weight }]) => `${name} ${weight}`);
  assert.deepEqual(weights, [
    "context_management report",
    "mcp_servers ignore",
    "inference_geo reject",
    "speed ignore",
    "future_field report",
    "metadata report",
  ]);
  const servers = decode({ mcp_servers: [{ url: "u" }] }).extras.messages;
  assert.equal(servers?.mcp_servers?.weight, "reject");
});

Deno.test("decodeRequest() rejects a thread with the code after which the SDK sends the whole history", () => {
  for (
    const thread of [
      { type: "create" },
      { type: "continue", previous_message_id: "msg_1" },
    ]
  ) {
    assert.throws(() => decode({ thread }), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.status, 400);
      assert.equal(error.param, "thread");
      assert.deepEqual(error.details, {
        error_code: "thread_unsupported_request",
      });
      return true;
    });
  }
  assert.equal(decode({ thread: false }).model, "m");
  assert.equal(decode({ thread: null }).model, "m");
});

Deno.test("decodeRequest() names the invalid field", async (t) => {
  const wrong = yamlTable(`
{ max_tokens: null } → max_tokens
{ max_tokens: -1 } → max_tokens
{ messages: [] } → messages
{ messages: [{ role: tool, content: a }] } → messages[0].role
{ messages: [{ role: user, content: 1 }] } → messages[0].content
{ messages: [{ role: user, content: [{}] }] } → messages[0].content[0].type
{ messages: [{ role: assistant, content: [{}] }] } → messages[0].content[0].type
{ messages: [{ role: system, content: [{}] }] } → messages[0].content[0].type
{ messages: [{ role: user, content: [{ type: text }] }] } → messages[0].content[0].text
{ messages: [{ role: user, content: [{ type: text, text: 1 }] }] } → messages[0].content[0].text
{ messages: [{ role: user, content: [{ type: image, source: { type: path } }] }] } →
  messages[0].content[0].source.type
{ messages: [{ role: user, content: [{ type: image, source: { type: base64,
  media_type: "image/png" } }] }] } → messages[0].content[0].source.data
{ messages: [{ role: user, content: [{ type: tool_result }] }] } →
  messages[0].content[0].tool_use_id
{ messages: [{ role: user, content: [{ type: tool_result, tool_use_id: x,
  content: [{ type: text }] }] }] } → messages[0].content[0].content[0].text
{ messages: [{ role: assistant, content: [{ type: tool_use }] }] } → messages[0].content[0].id
{ messages: [{ role: assistant, content: [{ type: tool_use, id: x, name: "" }] }] } →
  messages[0].content[0].name
{ system: [{ type: text }] } → system[0].text
{ tools: [{}] } → tools[0].name
{ tools: [{ name: f }] } → tools[0].input_schema
{ tool_choice: { type: required } } → tool_choice.type
{ tool_choice: { type: tool } } → tool_choice.name
{ thinking: { type: constructor } } → thinking.type
{ thinking: { type: enabled } } → thinking.budget_tokens
{ output_config: { format: { type: x } } } → output_config.format.type
{ output_format: { type: json_schema } } → output_format.schema
{ stop_sequences: a } → stop_sequences
{ temperature: "0" } → temperature
`);
  await steps(t, wrong, ([, fields, param]) => {
    assert.throws(() => decode(fields), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.kind, "invalid_request");
      assert.equal(error.param, param);
      return true;
    });
  });
});
