import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { CanonicalRequest } from "../../../../src/codecs/canonical/request/request.ts";
import { wrapSealed } from "../../../../src/codecs/canonical/content/sealed.ts";
import { encodeRequest } from "../../../../src/codecs/chat/request/encode.ts";
import { contextFor } from "../../../support/dialects/targets.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import {
  fromModel,
  fromUser,
  textPart,
} from "../../../support/wire/messages.ts";
import { call, text, turn } from "../../../support/wire/turns.ts";

interface Encoded {
  readonly body: JsonObject;
  readonly lost: readonly string[];
}

function encode(
  service: string,
  fields: Partial<CanonicalRequest>,
  maxOutputTokens?: number,
  model = "upstream-model",
): Encoded {
  const { context, lost } = contextFor(service, { maxOutputTokens, model });
  return { body: encodeRequest(requestOf(fields), context), lost };
}

const FUNCTION = {
  kind: "function",
  name: "f",
  parameters: { type: "object", properties: { a: {} } },
} as const;

Deno.test("encodeRequest() writes only the model and the messages for a request without settings", () => {
  assert.deepEqual(encode("custom", {}).body, {
    model: "upstream-model",
    messages: [fromUser("Hi")],
  });
});

Deno.test("encodeRequest() requests the usage of a stream", () => {
  const { body } = encode("custom", { stream: true });
  assert.equal(body.stream, true);
  assert.deepEqual(body.stream_options, { include_usage: true });
});

Deno.test("encodeRequest() writes the output limit in the service's field, up to the model's limit", () => {
  assert.equal(
    encode("openai", { maxOutputTokens: 9 }).body.max_completion_tokens,
    9,
  );
  assert.equal(encode("zai", { maxOutputTokens: 9 }).body.max_tokens, 9);
  const clamped = encode("custom", { maxOutputTokens: 9000 }, 8192);
  assert.equal(clamped.body.max_tokens, 8192);
  assert.deepEqual(clamped.lost, ["maxOutputTokens report"]);
});

Deno.test("encodeRequest() writes one system message at the start for servers that accept no later system message", () => {
  const turns = [
    turn("system", text("a"), text("b")),
    turn("developer", text("c")),
    turn("user", text("d")),
    turn("system", text("e")),
    turn("user", text("f")),
    turn("assistant", text("g")),
  ] as const;
  assert.deepEqual(encode("custom", { turns }).body.messages, [
    { role: "system", content: "a\n\nb\n\nc" },
    fromUser("d\n\n<system-reminder>\ne\n</system-reminder>\n\nf"),
    fromModel("g"),
  ]);
  assert.deepEqual(
    encode("openai", { turns: turns.slice(1, 4) }).body.messages,
    [
      { role: "developer", content: "c" },
      fromUser("d"),
      { role: "system", content: "e" },
    ],
  );
});

Deno.test("encodeRequest() writes one system message for a request of only system turns", () => {
  const { body } = encode("custom", { turns: [turn("system", text("a"))] });
  assert.deepEqual(body.messages, [{ role: "system", content: "a" }]);
});

Deno.test("encodeRequest() writes text as parts only if a part has a cache mark that the service accepts", () => {
  const marked = (service: string, model?: string) =>
    encode(
      service,
      {
        turns: [
          turn("user", text("a"), {
            ...text("b"),
            cache: { ttlSeconds: 3600 },
          }),
        ],
      },
      undefined,
      model,
    )
      .body.messages;
  assert.deepEqual(marked("custom"), [fromUser("a\n\nb")]);
  assert.deepEqual(marked("openrouter"), [fromUser([
    textPart("a"),
    {
      type: "text",
      text: "b",
      cache_control: { type: "ephemeral", ttl: "1h" },
    },
  ])]);
  assert.deepEqual(marked("openai", "gpt-5.6"), [fromUser([
    textPart("a"),
    {
      type: "text",
      text: "b",
      prompt_cache_breakpoint: { mode: "explicit", ttl: "12h" },
    },
  ])]);
});

Deno.test("encodeRequest() writes images and files, and rejects a file id of another provider", () => {
  const { body, lost } = encode("custom", {
    turns: [turn(
      "user",
      text("Look"),
      {
        kind: "image",
        source: { type: "base64", mediaType: "image/png", data: "aGk=" },
        detail: "low",
      },
      {
        kind: "image",
        source: { type: "url", url: "https://example.com/a.png" },
      },
      {
        kind: "file",
        source: { type: "base64", mediaType: "application/pdf", data: "aGk=" },
        name: "a.pdf",
      },
      { kind: "file", source: { type: "text", text: "words" }, name: "b.txt" },
      { kind: "file", source: { type: "id", store: "openai", id: "file-1" } },
      text(""),
    )],
  });
  assert.deepEqual(body.messages, [fromUser([
    textPart("Look"),
    {
      type: "image_url",
      image_url: { url: "data:image/png;base64,aGk=", detail: "low" },
    },
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
    {
      type: "file",
      file: {
        file_data: "data:application/pdf;base64,aGk=",
        filename: "a.pdf",
      },
    },
    textPart("b.txt\n\nwords"),
    { type: "file", file: { file_id: "file-1" } },
  ])]);
  assert.deepEqual(lost, []);
  const refused = encode("custom", {
    turns: [
      turn(
        "user",
        { kind: "image", source: { type: "id", store: "anthropic", id: "x" } },
        { kind: "file", source: { type: "id", store: "anthropic", id: "x" } },
        {
          kind: "file",
          source: { type: "url", url: "https://example.com/a.pdf" },
        },
      ),
    ],
  });
  assert.deepEqual(refused.lost, [
    "messages reject",
    "messages reject",
    "messages reject",
  ]);
});

Deno.test("encodeRequest() writes the text of other protocols' blocks, and reports blocks without a text by weight", () => {
  const opaque = {
    kind: "opaque",
    protocol: "messages",
    type: "search_result",
    value: {},
  } as const;
  const { body, lost } = encode("custom", {
    turns: [
      turn("user", { ...opaque, text: "found", weight: "reject" }, {
        ...opaque,
        weight: "ignore",
      }),
      turn("assistant", { ...opaque, weight: "report" }, text("ok")),
    ],
  });
  assert.deepEqual(body.messages, [
    fromUser([textPart("found")]),
    fromModel("ok"),
  ]);
  assert.deepEqual(lost, ["messages report"]);
});

Deno.test("encodeRequest() joins consecutive texts of an earlier answer, and separates others as paragraphs", () => {
  const { body } = encode("custom", {
    turns: [
      turn(
        "assistant",
        text("One "),
        text("sentence."),
        call("1", "f", ""),
        text("Then."),
      ),
    ],
  });
  assert.deepEqual(body.messages, [
    {
      role: "assistant",
      content: "One sentence.\n\nThen.",
      tool_calls: [{
        id: "1",
        type: "function",
        function: { name: "f", arguments: "{}" },
      }],
    },
    {
      role: "tool",
      tool_call_id: "1",
      content: "Error: [no result: interrupted]",
    },
  ]);
});

Deno.test("encodeRequest() moves images of results into a user message after all results", () => {
  const image = {
    kind: "image",
    source: { type: "url", url: "https://example.com/a.png" },
  } as const;
  const result = (
    callId: string,
    content: readonly (typeof image | ReturnType<typeof text>)[],
    isError = false,
  ) =>
    ({
      kind: "tool_result",
      callId,
      callKind: "function",
      content,
      isError,
    }) as const;
  const { body } = encode("custom", {
    turns: [
      turn("assistant", ...["1", "2", "3", "4"].map((id) => call(id))),
      turn(
        "tool",
        result("1", [text("a"), image, text("b")]),
        result("2", [image]),
        result("3", [], true),
        result("4", [text("Error: gone")], true),
      ),
      turn("user", text("next")),
    ],
  });
  assert.ok(Array.isArray(body.messages));
  assert.deepEqual(body.messages.slice(1), [
    {
      role: "tool",
      tool_call_id: "1",
      content: "a\nb\n[image attached below]",
    },
    { role: "tool", tool_call_id: "2", content: "[image attached below]" },
    { role: "tool", tool_call_id: "3", content: "Error: (empty)" },
    { role: "tool", tool_call_id: "4", content: "Error: gone" },
    fromUser([
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
    ]),
    fromUser("next"),
  ]);
});

function firstMessage({ messages }: JsonObject): unknown {
  return Array.isArray(messages) ? messages[0] : undefined;
}

Deno.test("encodeRequest() returns Gemini's thought signatures to their original place, and only to the issuer", () => {
  const signature = (value: string, origin: string) => ({
    protocol: "chat",
    form: "extra_content",
    value: JSON.stringify({ google: { thought_signature: value } }),
    origin,
  } as const);
  const turnOf = (origin: string) => ({
    turns: [
      turn("assistant", text("so"), {
        kind: "reasoning",
        parts: [],
        sealed: signature("text", origin),
      }, {
        kind: "function_call",
        id: "1",
        name: "f",
        arguments: "{}",
        sealed: signature("call", origin),
      }),
    ],
  } as const);
  const call = {
    id: "1",
    type: "function",
    function: { name: "f", arguments: "{}" },
  };
  const issuer = encode("custom", turnOf("connection-1"));
  assert.deepEqual(firstMessage(issuer.body), {
    role: "assistant",
    content: "so",
    extra_content: { google: { thought_signature: "text" } },
    tool_calls: [{
      ...call,
      extra_content: { google: { thought_signature: "call" } },
    }],
  });
  const other = encode("custom", turnOf("connection-2"));
  assert.deepEqual(firstMessage(other.body), {
    role: "assistant",
    content: "so",
    tool_calls: [call],
  });
  assert.deepEqual(new Set(other.lost), new Set(["sealedReasoning report"]));
});

Deno.test("encodeRequest() writes reasoning on every assistant message if one has reasoning and the provider requires it", () => {
  const turns = [
    turn("assistant", {
      kind: "reasoning",
      parts: [{ form: "raw", text: "a" }, { form: "raw", text: "b" }],
    }, text("x")),
    turn("user", text("y")),
    turn("assistant", text("z")),
  ] as const;
  assert.deepEqual(encode("kimi", { turns }).body.messages, [
    { role: "assistant", reasoning_content: "a\n\nb", content: "x" },
    fromUser("y"),
    { role: "assistant", content: "z", reasoning_content: " " },
  ]);
  assert.deepEqual(
    encode("openai", { turns: turns.slice(0, 1) }).body.messages,
    [fromModel("x")],
  );
  assert.deepEqual(encode("kimi", { turns: turns.slice(1) }).body.messages, [
    fromUser("y"),
    fromModel("z"),
  ]);
});

Deno.test("encodeRequest() returns sealed parts only to their issuer, and reports others", () => {
  const details = '[{"type":"reasoning.encrypted","data":"x"}]';
  const sealed = {
    protocol: "chat",
    form: "reasoning_details",
    value: details,
  } as const;
  const thought = (origin: string | undefined, form: string = sealed.form) =>
    encode("openrouter", {
      turns: [turn("assistant", {
        kind: "reasoning",
        parts: [],
        sealed: { ...sealed, origin, form },
      }, text("x"))],
    });
  assert.match(
    JSON.stringify(thought("connection-1").body),
    /"reasoning_details":\[\{"type":"reasoning.encrypted"/,
  );
  assert.deepEqual(thought("connection-1").lost, []);
  assert.doesNotMatch(
    JSON.stringify(thought("connection-2").body),
    /reasoning_details/,
  );
  assert.deepEqual(thought("connection-2").lost, ["sealedReasoning report"]);
  assert.doesNotMatch(
    JSON.stringify(thought("connection-1", "other").body),
    /reasoning_details/,
  );
});

Deno.test("encodeRequest() requests reasoning in the service's words", () => {
  const cases: [
    service: string,
    settings: CanonicalRequest["reasoning"],
    body: JsonObject,
    lost?: string[],
  ][] = [
    ["openai", { mode: "off" }, { reasoning_effort: "low" }, [
      "reasoning report",
    ]],
    ["gateway", { mode: "off" }, { reasoning_effort: "none" }],
    ["openai", { effort: "max" }, { reasoning_effort: "max" }],
    ["openai", { mode: "adaptive" }, {}],
    ["openai", { mode: "budget", budgetTokens: 10_000 }, {
      reasoning_effort: "medium",
    }],
    ["custom", { mode: "off" }, {}, ["reasoning report"]],
    ["custom", { effort: "minimal" }, { reasoning_effort: "low" }, [
      "reasoning report",
    ]],
    ["custom", { effort: "medium" }, { reasoning_effort: "medium" }],
    ["custom", { effort: "max" }, { reasoning_effort: "high" }, [
      "reasoning report",
    ]],
    ["zai", { mode: "off" }, { thinking: { type: "disabled" } }],
    ["zai", { effort: "high" }, { thinking: { type: "enabled" } }, [
      "reasoning report",
    ]],
    ["openrouter", { mode: "off" }, { reasoning: { enabled: false } }],
    ["openrouter", { mode: "adaptive" }, { reasoning: { enabled: true } }],
    ["openrouter", { effort: "low" }, { reasoning: { effort: "low" } }],
    ["openrouter", { mode: "budget", budgetTokens: 2000 }, {
      reasoning: { max_tokens: 2000 },
    }],
  ];
  for (const [service, reasoning, expected, lost = []] of cases) {
    const { body, lost: actual } = encode(
      service,
      { reasoning },
      undefined,
      service === "zai" ? "glm-4.7" : undefined,
    );
    const { model: _model, messages: _messages, ...rest } = body;
    assert.deepEqual(rest, expected, `${service} ${JSON.stringify(reasoning)}`);
    assert.deepEqual(actual, lost);
  }
});

Deno.test("encodeRequest() writes no tool settings without tools", () => {
  const { body, lost } = encode("custom", {
    toolChoice: { type: "required" },
    parallelTools: false,
    tools: [{
      kind: "hosted",
      protocol: "messages",
      type: "web_search_20250305",
      value: {},
    }],
  });
  assert.deepEqual(Object.keys(body), ["model", "messages"]);
  assert.deepEqual(lost, ["tools report", "toolChoice report"]);
});

Deno.test("encodeRequest() reports a forced hosted tool of another protocol", () => {
  const value = { type: "tool", name: "web_search" };
  const { lost } = encode("custom", {
    tools: [FUNCTION],
    toolChoice: { type: "hosted", protocol: "messages", value },
  });
  assert.deepEqual(lost, ["toolChoice report"]);
});

Deno.test("encodeRequest() writes only the allowed tools if the service has no list of allowed tools", () => {
  const tools = [FUNCTION, { ...FUNCTION, name: "g" }];
  const allowed = {
    type: "allowed",
    mode: "required",
    tools: [{ kind: "function", name: "g" }],
  } as const;
  const narrowed = encode("custom", { tools, toolChoice: allowed }).body;
  assert.equal(narrowed.tool_choice, "required");
  assert.match(JSON.stringify(narrowed.tools), /"name":"g"/);
  assert.doesNotMatch(JSON.stringify(narrowed.tools), /"name":"f"/);
  assert.deepEqual(
    encode("openai", { tools, toolChoice: allowed }).body.tool_choice,
    {
      type: "allowed_tools",
      allowed_tools: {
        mode: "required",
        tools: [{ type: "function", function: { name: "g" } }],
      },
    },
  );
  assert.deepEqual(
    encode("custom", {
      tools,
      toolChoice: { type: "tool", tool: { kind: "function", name: "f" } },
    }).body.tool_choice,
    { type: "function", function: { name: "f" } },
  );
  assert.equal(
    encode("custom", { tools, toolChoice: { type: "none" } }).body.tool_choice,
    "none",
  );
});

Deno.test("encodeRequest() drops `strict` of a tool for OpenAI if the schema does not qualify", () => {
  const strict = { ...FUNCTION, strict: true };
  const open = encode("openai", { tools: [strict] });
  assert.doesNotMatch(JSON.stringify(open.body.tools), /strict/);
  assert.deepEqual(open.lost, ["toolStrictness report"]);
  assert.match(
    JSON.stringify(encode("custom", { tools: [strict] }).body.tools),
    /"strict":true/,
  );
});

Deno.test("encodeRequest() writes a schema for the answer, or puts it into the prompt if the service has no schemas", () => {
  const closed = {
    type: "object",
    properties: { a: {} },
    required: ["a"],
    additionalProperties: false,
  };
  const format = { type: "schema", schema: closed } as const;
  assert.deepEqual(encode("openai", { format }).body.response_format, {
    type: "json_schema",
    json_schema: { name: "output", schema: closed, strict: true },
  });
  const open = {
    type: "schema",
    schema: { type: "object", properties: { a: {} } },
    name: "x",
  } as const;
  assert.deepEqual(encode("openai", { format: open }).body.response_format, {
    type: "json_schema",
    json_schema: { name: "x", schema: open.schema },
  });
  assert.deepEqual(
    encode("openai", { format: { ...open, strict: true } }).lost,
    ["format reject"],
  );
  assert.match(
    JSON.stringify(
      encode("custom", { format: { ...open, strict: true } }).body,
    ),
    /"strict":true/,
  );
  const sent = encode("deepseek", { format });
  assert.deepEqual(sent.body.response_format, { type: "json_object" });
  assert.deepEqual(sent.lost, ["format report"]);
  assert.match(
    JSON.stringify(sent.body.messages),
    /must match this JSON schema/,
  );
  const beside = encode("deepseek", {
    format,
    turns: [turn("system", text("Be kind.")), turn("user", text("Hi"))],
  });
  assert.match(
    JSON.stringify(beside.body.messages),
    /^\[\{"role":"system","content":"Be kind\.\\n\\nAnswer with one JSON/,
  );
  assert.deepEqual(
    encode("custom", { format: { type: "json" } }).body.response_format,
    { type: "json_object" },
  );
});

Deno.test("encodeRequest() drops and reports settings that only OpenAI has", () => {
  const fields = {
    verbosity: "low",
    serviceTier: {
      tier: "flex",
      raw: { protocol: "responses", value: "flex" },
    },
    cacheKey: "k",
    metadata: { a: "b" },
    sampling: { temperature: 0, topK: 3, seed: 1 },
  } as const;
  const { body, lost } = encode("custom", fields);
  assert.deepEqual(lost, [
    "topK report",
    "verbosity report",
    "cacheKey report",
    "metadata report",
    "serviceTier report",
  ]);
  assert.deepEqual(Object.keys(body), [
    "model",
    "messages",
    "temperature",
    "seed",
  ]);
  const openai = encode("openai", fields);
  assert.equal(openai.body.service_tier, "flex");
  assert.equal(openai.body.prompt_cache_key, "k");
  assert.deepEqual(openai.lost, ["topK report"]);
  const named = encode("openai", { conversation: "session-1" });
  assert.equal(named.body.prompt_cache_key, "session-1");
  assert.deepEqual(encode("custom", { conversation: "session-1" }).lost, []);
  const auto = {
    tier: "auto",
    raw: { protocol: "messages", value: "auto" },
  } as const;
  assert.deepEqual(encode("custom", { serviceTier: auto }).lost, []);
  const standard = {
    tier: "standard",
    raw: { protocol: "messages", value: "standard_only" },
  } as const;
  assert.equal(
    encode("openai", { serviceTier: standard }).body.service_tier,
    "default",
  );
});

Deno.test("encodeRequest() hashes a user id that is too long", () => {
  assert.equal(encode("custom", { user: "anna" }).body.user, "anna");
  assert.match(
    String(encode("openai", { user: "x".repeat(65) }).body.user),
    /^[0-9a-f]{64}$/,
  );
});

Deno.test("encodeRequest() writes Chat's extras, and reports the extras of other protocols", () => {
  const { body, lost } = encode("openai", {
    extras: {
      chat: { prediction: { value: { type: "content" }, weight: "report" } },
      messages: { container: { value: "x", weight: "report" } },
    },
  });
  assert.deepEqual(body.prediction, { type: "content" });
  assert.deepEqual(lost, ["container report"]);
});

Deno.test("encodeRequest() drops and reports another protocol's sealed part", () => {
  const sealed = {
    protocol: "messages",
    form: "signature",
    value: "s",
    origin: "connection-1",
  } as const;
  const { body, lost } = encode("custom", {
    turns: [
      turn("assistant", { kind: "reasoning", parts: [], sealed }, text("x")),
    ],
  });
  assert.ok(!JSON.stringify(body).includes(wrapSealed(sealed)));
  assert.deepEqual(lost, ["sealedReasoning report"]);
});

Deno.test("encodeRequest() writes a participant's name", () => {
  const turns = [
    { role: "user", name: "anna", blocks: [text("a")] },
    turn("user", text("b")),
  ] as const;
  assert.deepEqual(encode("custom", { turns }).body.messages, [
    { role: "user", content: "a", name: "anna" },
    fromUser("b"),
  ]);
});
