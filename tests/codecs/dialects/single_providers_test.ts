import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { received } from "../../support/dialects/upstream_request.ts";
import { fromModel, fromUser, textPart } from "../../support/wire/messages.ts";
import { closedSchema } from "../../support/wire/schemas.ts";

// Fields that a provider of Chat Completions rejects, and the fields that it gets instead.

const GROQ = "chat groq openai/gpt-oss-120b";
const CEREBRAS = "chat cerebras gpt-oss-120b";
const MISTRAL = "chat mistral mistral-medium-3-5";
const GLM = "chat zai glm-4.7";
const GEMINI = "chat gemini gemini-3.8-flash";
const XAI = "chat xai grok-4.6";
const COHERE = "chat cohere command-a-reasoning-08-2025";
const DOUBAO = "chat volcengine doubao-seed-1-8";
const NVIDIA = "chat nvidia openai/gpt-oss-120b";
const LM_STUDIO = "chat lmstudio qwen3-30b-a3b";
const KIMI = "chat kimi kimi-for-coding";

function messagesOf({ body }: { readonly body: JsonObject }): JsonObject[] {
  assert.ok(Array.isArray(body.messages));
  return body.messages.filter(isJsonObject);
}

/** A tool loop with reasoning, followed by a user message. */
const LOOP: JsonObject = {
  messages: [
    fromUser("Hello"),
    fromModel([
      { type: "thinking", thinking: "Hm.", signature: "" },
      { type: "tool_use", id: "toolu_01AbCdEfGh", name: "f", input: {} },
    ]),
    fromUser([
      { type: "tool_result", tool_use_id: "toolu_01AbCdEfGh", content: "1" },
      textPart("And now?"),
    ]),
  ],
};

const TOOL = { type: "function", name: "f", strict: false };

const SCHEMA: JsonObject = closedSchema("a");

const FORMATTED: JsonObject = {
  text: { format: { type: "json_schema", name: "n", schema: SCHEMA } },
};

// "property 'reasoning_content' is unsupported": https://console.groq.com/docs/api-reference
Deno.test("Groq gets earlier reasoning in `reasoning`", () => {
  const [, call] = messagesOf(received("messages", GROQ, LOOP));
  assert.equal(call?.reasoning, "Hm.");
  assert.equal(call?.reasoning_content, undefined);
});

for (const provider of [CEREBRAS, MISTRAL]) {
  Deno.test(`${provider} gets no earlier reasoning, which it rejects`, () => {
    const text = JSON.stringify(received("messages", provider, LOOP).body);
    assert.doesNotMatch(text, /Hm\.|reasoning/);
  });
}

for (const provider of [GROQ, CEREBRAS]) {
  // "json mode cannot be combined with tool/function calling": https://github.com/vercel/ai/issues/10023
  Deno.test(`${provider} gets an instruction for a format beside tools`, () => {
    const { body, dropped } = received("responses", provider, {
      ...FORMATTED,
      tools: [TOOL],
    });
    assert.equal(body.response_format, undefined);
    const [first] = messagesOf({ body });
    assert.equal(first?.role, "system");
    assert.match(String(first?.content), /JSON schema:\n\{"type":"object"/);
    assert.deepEqual(dropped, ["text.format"]);
  });

  Deno.test(`${provider} gets a format without tools`, () => {
    const { body, dropped } = received("responses", provider, FORMATTED);
    assert.ok(isJsonObject(body.response_format));
    assert.equal(body.response_format.type, "json_schema");
    assert.deepEqual(dropped, []);
  });
}

Deno.test("a format of plain JSON beside tools becomes an instruction, too", () => {
  const { body } = received("responses", GROQ, {
    text: { format: { type: "json_object" } },
    tools: [TOOL],
  });
  assert.equal(body.response_format, undefined);
  const [first] = messagesOf({ body });
  assert.equal(first?.content, "Answer with one JSON object and nothing else.");
});

// "Requests with max_tokens > 4096 must have stream=true": https://github.com/nullclaw/nullclaw/pull/231
Deno.test("Fireworks is asked for a stream when the output limit is high", () => {
  for (
    const [service, tokens, stream] of [
      ["fireworks", 4096, undefined],
      ["fireworks", 4097, true],
      ["together", 100_000, undefined],
    ] as const
  ) {
    const target = `chat ${service} accounts/fireworks/models/kimi-k2p6`;
    const { body } = received("messages", target, { max_tokens: tokens });
    assert.deepEqual([body.stream, body.max_tokens], [stream, tokens]);
    if (stream) assert.deepEqual(body.stream_options, { include_usage: true });
  }
});

// 422 for `file`: https://github.com/danny-avila/LibreChat/pull/12144
Deno.test("Mistral gets files as `document_url`, in a message and in a tool's result", () => {
  const data = "JVBERi0xLjQ=";
  const document = (source: JsonObject): JsonObject => ({
    type: "document",
    title: "a.pdf",
    source,
  });
  const pdf = document({ type: "base64", media_type: "application/pdf", data });
  const linked = document({ type: "url", url: "https://a.example/a.pdf" });
  const part = (url: string) => ({
    type: "document_url",
    document_url: url,
    document_name: "a.pdf",
  });
  const { body } = received("messages", MISTRAL, {
    messages: [
      fromUser([pdf, linked]),
      fromModel([{ type: "tool_use", id: "t", name: "f", input: {} }]),
      fromUser([{ type: "tool_result", tool_use_id: "t", content: [pdf] }]),
    ],
  });
  const messages = messagesOf({ body });
  const embedded = part(`data:application/pdf;base64,${data}`);
  assert.deepEqual(messages[0]?.content, [
    embedded,
    part("https://a.example/a.pdf"),
  ]);
  assert.deepEqual(messages.at(-1)?.content, [embedded]);
  assert.doesNotMatch(JSON.stringify(body), /"type":"file"/);
});

// "unknown variant `image_url`, expected `text`": https://github.com/nesquena/hermes-webui/issues/2297
Deno.test("a DeepSeek model without vision gets a text in place of a picture in a tool's result", () => {
  const picture = {
    type: "input_image",
    image_url: "data:image/png;base64,iV",
  };
  const input = [
    fromUser("Look."),
    { type: "function_call", call_id: "1", name: "view", arguments: "{}" },
    { type: "function_call_output", call_id: "1", output: [picture] },
  ];
  const content = "[image left out: this model reads text alone]";
  for (const model of ["deepseek-v4-flash", "deepseek-chat"]) {
    const made = received("responses", `chat deepseek ${model}`, { input });
    assert.doesNotMatch(JSON.stringify(made.body), /image_url/);
    const last = messagesOf(made).at(-1);
    assert.deepEqual([last?.role, last?.content], ["tool", content]);
    assert.deepEqual(made.dropped, ["input"]);
  }
  for (
    const target of ["deepseek deepseek-v4-flash-vision-exp", "zai glm-4.6v"]
  ) {
    const made = received("responses", `chat ${target}`, { input });
    assert.match(JSON.stringify(made.body), /image_url/);
    assert.deepEqual(made.dropped, []);
  }
});

/** The parts of the model's message, and its content and refusal for OpenAI and for others. */
const REFUSALS: readonly (readonly [
  what: string,
  parts: readonly ("text" | "refusal")[],
  own: JsonObject,
  other: string,
])[] = [
  [
    "before a text",
    ["refusal", "text"],
    { content: "No.\n\nYes.", refusal: undefined },
    "No.\n\nYes.",
  ],
  [
    "after a text",
    ["text", "refusal"],
    { content: "Yes.", refusal: "No." },
    "Yes.\n\nNo.",
  ],
  [
    "between texts",
    ["text", "refusal", "text"],
    { content: "Yes.\n\nNo.\n\nYes.", refusal: undefined },
    "Yes.\n\nNo.\n\nYes.",
  ],
  ["without a text", ["refusal"], { content: null, refusal: "No." }, "No."],
];

for (const [what, parts, own, other] of REFUSALS) {
  Deno.test(`a refusal ${what} keeps its place in the history`, () => {
    const content = parts.map((kind) =>
      kind === "text"
        ? { type: "output_text", text: "Yes." }
        : { type: "refusal", refusal: "No." }
    );
    const input = [
      fromUser("May I?"),
      { type: "message", role: "assistant", content },
      fromUser("And now?"),
    ];
    const answerAt = (target: string) =>
      messagesOf(received("responses", target, { input }))[1];
    const { content: text, refusal } = answerAt("chat openai gpt-4.1") ?? {};
    assert.deepEqual({ content: text, refusal }, own);
    assert.equal(answerAt(GROQ)?.content, other);
  });
}

/** The fields of a request, what is sent, and what is dropped. */
type FormatCase = readonly [
  what: string,
  provider: string,
  fields: JsonObject,
  sent: JsonObject,
  dropped: readonly string[],
];

/** The formats and choices of single providers. */
const FORMATS: readonly FormatCase[] = [
  // "Function calling with a response mime type: 'application/json' is unsupported":
  // https://github.com/symfony/ai/issues/1777, https://github.com/openai/openai-agents-python/issues/656
  ...["gemini-2.5-flash", "gemini-2.0-flash"].flatMap((model) =>
    ["gemini", "vertex"].map((service): FormatCase => [
      `${model} at ${service} gets a format beside tools in words`,
      `chat ${service} ${model}`,
      { ...FORMATTED, tools: [TOOL] },
      { response_format: undefined },
      ["text.format"],
    ])
  ),
  // https://github.com/simstudioai/sim/pull/4184
  [
    "Gemini 3 gets a format beside tools",
    GEMINI,
    { ...FORMATTED, tools: [TOOL] },
    { response_format: sentSchema(SCHEMA, "n") },
    [],
  ],
  [
    "Gemini 2.5 gets a format without tools",
    "chat gemini gemini-2.5-flash",
    FORMATTED,
    { response_format: sentSchema(SCHEMA, "n") },
    [],
  ],
  // "This model does not support response format `json_schema`":
  // https://console.groq.com/docs/structured-outputs, https://github.com/ItzCrazyKns/Vane/issues/980
  ...["llama-3.3-70b-versatile", "qwen/qwen3-32b"].map((model): FormatCase => [
    `${model} at Groq gets a schema in words, and JSON as the format`,
    `chat groq ${model}`,
    FORMATTED,
    { response_format: { type: "json_object" } },
    ["text.format"],
  ]),
  // https://github.com/cisco-ai-defense/skill-scanner/pull/115
  [
    "MiniMax gets a schema in the prompt, and JSON as the format",
    "chat minimax MiniMax-M2.7",
    FORMATTED,
    { response_format: { type: "json_object" } },
    ["text.format"],
  ],
  [
    "Llama 4 at Groq gets a schema",
    "chat groq meta-llama/llama-4-scout-17b-16e-instruct",
    FORMATTED,
    { response_format: sentSchema(SCHEMA, "n") },
    [],
  ],
  // "'response_format.type' must be 'json_schema' or 'text'":
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189
  [
    "LM Studio gets JSON without a schema as a schema of any object",
    LM_STUDIO,
    { text: { format: { type: "json_object" } } },
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "output", schema: { type: "object" } },
      },
    },
    [],
  ],
  // "Invalid tool_choice type: 'object'. Supported string values: none, auto, required":
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670
  [
    "LM Studio gets only the forced tool, with `required` as the choice",
    LM_STUDIO,
    {
      tools: [TOOL, { ...TOOL, name: "g" }],
      tool_choice: { type: "function", name: "g" },
    },
    { tool_choice: "required", tools: [sentTool("g", { strict: false })] },
    [],
  ],
  [
    "LM Studio gets only the allowed tools, with `required` as the choice",
    LM_STUDIO,
    {
      tools: [TOOL],
      tool_choice: {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "f" }],
      },
    },
    { tool_choice: "required", tools: [sentTool("f", { strict: false })] },
    [],
  ],
  // "Tools with mixed values for 'strict' are not allowed":
  // https://github.com/mpfaffenberger/code_puppy/pull/368
  [
    "Cerebras gets no strict tool beside one that is not strict",
    CEREBRAS,
    { tools: [{ ...TOOL, strict: true }, { ...TOOL, name: "g" }] },
    { tools: [sentTool("f"), sentTool("g")] },
    ["tools[].strict"],
  ],
  [
    "Cerebras gets no strict tool beside one without `strict`",
    CEREBRAS,
    { tools: [{ ...TOOL, strict: true }, { type: "function", name: "g" }] },
    { tools: [sentTool("f"), sentTool("g")] },
    ["tools[].strict"],
  ],
  [
    "Cerebras gets strict tools if all are strict",
    CEREBRAS,
    { tools: [{ ...TOOL, strict: true }] },
    { tools: [sentTool("f", { strict: true })] },
    [],
  ],
];

for (const [what, provider, fields, fitted, dropped] of FORMATS) {
  Deno.test(what, () => {
    const made = received("responses", provider, fields);
    for (const [name, value] of Object.entries(fitted)) {
      assert.deepEqual(made.body[name], value, name);
    }
    assert.deepEqual(made.dropped, dropped);
    const isInWords = JSON.stringify(made.body.messages).includes("one JSON");
    assert.equal(isInWords, dropped.includes("text.format"));
  });
}

function sentSchema(schema: JsonObject, name: string): JsonObject {
  return { type: "json_schema", json_schema: { name, schema, strict: true } };
}

function sentTool(name: string, strict: JsonObject = {}): JsonObject {
  const parameters = { type: "object", properties: {} };
  return { type: "function", function: { name, parameters, ...strict } };
}

/** The sent effort for each requested one, and true when the change is named. */
const EFFORTS: readonly (readonly [
  provider: string,
  asked: string,
  sent: string | undefined,
  isNamed: boolean,
])[] = [
  [GROQ, "high", "high", false],
  [GROQ, "xhigh", "high", true],
  [GROQ, "minimal", "low", true],
  [GROQ, "none", "low", true],
  ["chat groq qwen/qwen3-32b", "none", "none", false],
  ["chat groq qwen/qwen3-32b", "medium", "default", true],
  ["chat groq llama-3.3-70b-versatile", "high", undefined, true],
  ["chat groq llama-3.3-70b-versatile", "none", undefined, false],
  [CEREBRAS, "max", "high", true],
  ["chat cerebras zai-glm-4.7", "low", undefined, true],
  [MISTRAL, "low", "high", true],
  [MISTRAL, "none", "none", false],
  ["chat mistral mistral-large-latest", "high", undefined, true],
  [GEMINI, "minimal", "low", true],
  [GEMINI, "none", "low", true],
  ["chat gemini gemini-2.5-flash", "none", "none", false],
  [GEMINI, "max", "high", true],
  ["chat gemini gemini-3-pro-preview", "medium", "high", true],
  ["chat gemini gemini-3-pro-preview", "none", "low", true],
  ["chat gemini gemini-2.0-flash", "high", undefined, true],
  ["chat vertex google/gemini-2.5-pro", "low", "low", false],
  [XAI, "xhigh", "xhigh", false],
  [XAI, "none", "low", true],
  ["chat xai grok-4.3", "none", "none", false],
  ["chat xai grok-4", "high", undefined, true],
  ["chat xai grok-4.20-0309-reasoning", "low", undefined, true],
  [COHERE, "low", "high", true],
  [COHERE, "none", "none", false],
  ["chat cohere command-a-03-2025", "high", undefined, true],
  [DOUBAO, "none", "minimal", false],
  [DOUBAO, "xhigh", "high", true],
  ["chat volcengine deepseek-v3-2-251201", "high", undefined, true],
  [NVIDIA, "minimal", "low", true],
  ["chat nvidia z-ai/glm5", "high", undefined, true],
];

for (const [provider, asked, word, isNamed] of EFFORTS) {
  Deno.test(`${provider} gets "${asked}" as ${word}`, () => {
    const fields = { reasoning: { effort: asked } };
    const { body, dropped } = received("responses", provider, fields);
    assert.equal(body.reasoning_effort, word);
    assert.deepEqual(dropped, isNamed ? ["reasoning"] : []);
  });
}

Deno.test("a model with known efforts gets no effort if none is requested", () => {
  const { body, dropped } = received("messages", GROQ, {});
  assert.equal(body.reasoning_effort, undefined);
  assert.deepEqual(dropped, []);
});

// "must be a-z, A-Z, 0-9, with a length of 9": https://github.com/jundot/omlx/issues/1997
Deno.test("Mistral gets ids of nine letters and digits, the same for a call and its result", () => {
  const [, call, result] = messagesOf(received("messages", MISTRAL, LOOP));
  assert.ok(
    Array.isArray(call?.tool_calls) && isJsonObject(call.tool_calls[0]),
  );
  const { id } = call.tool_calls[0];
  assert.match(String(id), /^[A-Za-z0-9]{9}$/);
  assert.equal(result?.tool_call_id, id);
});

Deno.test("Mistral's own ids return unchanged", () => {
  const text = JSON.stringify(LOOP).replaceAll("toolu_01AbCdEfGh", "D681PevKs");
  const { body } = received("messages", MISTRAL, JSON.parse(text));
  assert.match(JSON.stringify(body), /"tool_call_id":"D681PevKs"/);
});

// "Unexpected role 'user' after role 'tool'"
Deno.test("Mistral gets a message of the model between a result and the next user message", () => {
  const roles = (provider: string) =>
    messagesOf(received("messages", provider, LOOP)).map(({ role }) => role);
  assert.deepEqual(roles(MISTRAL), [
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  assert.deepEqual(roles(GROQ), ["user", "assistant", "tool", "user"]);
});

Deno.test("Mistral's models get nine-character ids and a message after a result at every provider", () => {
  for (const service of ["custom", "openrouter", "siliconflow"]) {
    const messages = messagesOf(
      received("messages", `chat ${service} mistralai/Devstral-2512`, LOOP),
    );
    assert.match(String(messages[2]?.tool_call_id), /^[A-Za-z0-9]{9}$/);
    assert.equal(messages[3]?.role, "assistant");
  }
  const own = messagesOf(received("messages", "chat gateway devstral", LOOP));
  assert.equal(own[2]?.tool_call_id, "toolu_01AbCdEfGh");
});

const STREAMED: JsonObject = { stream: true, safety_identifier: "me" };

Deno.test("Mistral gets no `user` and no `stream_options`, which it rejects", () => {
  const { body, dropped } = received("responses", MISTRAL, STREAMED);
  assert.equal(body.stream, true);
  assert.equal(body.stream_options, undefined);
  assert.equal(body.user, undefined);
  assert.equal(dropped.length, 1);
});

Deno.test("Cohere gets `stream_options`, but no `user`", () => {
  const { body } = received("responses", "chat cohere command-a", STREAMED);
  assert.deepEqual(body.stream_options, { include_usage: true });
  assert.equal(body.user, undefined);
});

Deno.test("Mistral gets the seed as `random_seed`", () => {
  const { body } = received("chat", MISTRAL, { seed: 7 });
  assert.equal(body.random_seed, 7);
  assert.equal(body.seed, undefined);
});

/** An answer that the model must continue. */
const PREFILLED: JsonObject = {
  messages: [fromUser("Hello"), fromModel("Good")],
};

for (
  const [provider, field] of [[KIMI, "partial"], [MISTRAL, "prefix"]] as const
) {
  Deno.test(`${provider} gets \`${field}\` to continue the model's last message`, () => {
    const messages = messagesOf(received("messages", provider, PREFILLED));
    assert.deepEqual(messages.at(-1), {
      role: "assistant",
      content: "Good",
      [field]: true,
    });
    const others = messagesOf(received("messages", provider, LOOP));
    assert.ok(others.every((message) => message[field] === undefined));
  });
}

Deno.test("a Chat caller's mark of a prefill is kept for models that accept prefills, and named as dropped for others", () => {
  for (const mark of ["partial", "prefix"]) {
    const body: JsonObject = {
      messages: [
        fromUser("Hello"),
        { role: "assistant", content: "Good", [mark]: true },
      ],
    };
    const kimi = received("chat", "chat kimi kimi-k2.6", body);
    assert.equal(messagesOf(kimi).at(-1)?.partial, true);
    assert.deepEqual(kimi.dropped, []);
    const old = received("chat", "messages anthropic claude-sonnet-4-5", body);
    assert.equal(messagesOf(old).at(-1)?.role, "assistant");
    assert.deepEqual(old.dropped, []);
    for (
      const target of [
        "messages anthropic claude-sonnet-4-6",
        "responses openai gpt-5.2",
        "chat openai gpt-5.2",
      ]
    ) assert.deepEqual(received("chat", target, body).dropped, ["messages"]);
  }
});

Deno.test("other providers get a prefill without a mark", () => {
  const messages = messagesOf(received("messages", GROQ, PREFILLED));
  assert.deepEqual(messages.at(-1), fromModel("Good"));
});

// "this error occur when sending a completion request with zero `user` role messages in it"
// https://github.com/anomalyco/opencode/issues/2557
const USERLESS: readonly (readonly [string, JsonObject, string[]])[] = [
  ["only system text", {
    input: [{ role: "developer", content: "Say hi." }],
  }, ["system", "user"]],
  ["only text of the model", {
    input: [fromModel("Hi.")],
  }, ["user", "assistant"]],
  ["a user", { input: "Hello" }, ["user"]],
];

for (const [what, fields, roles] of USERLESS) {
  Deno.test(`GLM always gets a user message: ${what}`, () => {
    const made = received("responses", GLM, fields);
    assert.deepEqual(messagesOf(made).map(({ role }) => role), roles);
  });
}

Deno.test("other models get no added user message", () => {
  const made = received("responses", GROQ, {
    input: [{ role: "developer", content: "Say hi." }],
  });
  assert.deepEqual(messagesOf(made).map(({ role }) => role), ["system"]);
});

// "Unrecognized request argument supplied: prompt_cache_key": https://github.com/vectorize-io/hindsight/issues/3518
Deno.test("on Azure, only OpenAI's models get the settings that only OpenAI has", () => {
  const fields = {
    prompt_cache_key: "k",
    max_output_tokens: 100,
    reasoning: { effort: "max" },
  };
  const other = received(
    "responses",
    "chat azure-chat DeepSeek-V4-Pro",
    fields,
  );
  assert.equal(other.body.prompt_cache_key, undefined);
  assert.equal(other.body.max_tokens, 100);
  assert.equal(other.body.reasoning_effort, "high");
  assert.deepEqual(other.dropped, ["reasoning", "prompt_cache_key"]);
  const own = received("responses", "chat azure-chat gpt-5-mini", fields);
  assert.equal(own.body.prompt_cache_key, "k");
  assert.equal(own.body.max_completion_tokens, 100);
});
