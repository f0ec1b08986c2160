import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";
import { teachBody } from "../../../src/codecs/dialects/apply_lessons.ts";
import {
  isLesson,
  type Lesson,
  lessonText,
  readLesson,
} from "../../../src/codecs/dialects/lessons.ts";
import { lessonsIn } from "../../../src/codecs/dialects/read_refusal.ts";
import { type Protocol, PROTOCOLS } from "../../../src/base/protocol.ts";
import { fromModel, fromUser } from "../../support/wire/messages.ts";
import { yamlPairs } from "../../support/yaml_table.ts";

/** A refusal in a provider's words, and what it teaches. */
const LESSONS = yamlPairs(`
chat: "Argument not supported on this model: presencePenalty" → ["omit presence_penalty"]
responses: "Model m does not support parameter reasoningEffort." → ["omit reasoning.effort"]
messages: "This model does not support the effort parameter." → ["omit output_config.effort"]
messages: "tools.0.custom.cache_control.ttl: Extra inputs are not permitted" →
  ["omit tools[].cache_control"]
messages: "thinking.enabled.budget_tokens: Extra inputs are not permitted" → ["omit thinking"]
chat: "Unknown name \\"const\\" at
  'tools[0].function_declarations[5].parameters.properties[8].value': Cannot find field.\\nInvalid
  JSON payload received. Unknown name \\"seed\\": Cannot find field." → ["describe const",
  "omit seed"]
chat: "Unsupported parameter: 'max_completion_tokens'" → ["respell max_completion_tokens:
  max_tokens"]
chat: "messages[0].role: unknown variant \`developer\`, expected one of \`system\`, \`user\`" →
  ["respell developer: system"]
chat: "messages[0].role: unknown variant \`tool\`, expected \`user\` or \`assistant\`" → []
chat: "Invalid reasoning_effort: xhigh" → ["nearest reasoning_effort: none, minimal, low, medium,
  high, max"]
chat: "\`reasoning_effort\` must be one of \`none\` or \`default\`" →
  ["omit reasoning_effort"]
chat: "invalid reasoning value: 'minimal' (must be \\"high\\", \\"medium\\", \\"low\\", true,
  or false)" → ["nearest reasoning_effort: low, medium, high"]
messages: "\`temperature\` and \`top_p\` cannot both be specified for this model." →
  ["omit top_p beside temperature"]
messages: "\`messages\` and \`top_p\` cannot both be specified" → []
# A schema's property has the name of a setting.
messages: "tools.0.custom.input_schema.properties.temperature: Extra inputs are not permitted" → []
chat: "property 'tool_calls' is unsupported" → []
chat: "Unsupported parameter: 'store' is not supported" → []
chat: "response_format.json_schema.schema: Extra inputs are not permitted" → []
`);

for (const [name, words, lessons] of LESSONS) {
  const protocol = PROTOCOLS.find((one) => one === name);
  assert.ok(protocol);
  const message = String(words);
  Deno.test(`a refusal in ${protocol} teaches [${lessons}]: ${message.slice(0, 60)}`, () => {
    const failure = { kind: "invalid_request", status: 400, message } as const;
    const found = lessonsIn(failure, protocol);
    assert.deepEqual(found.map(lessonText), lessons);
    for (const lesson of found) {
      assert.ok(isLesson(JSON.parse(JSON.stringify(lesson))));
    }
  });
}

Deno.test("lessonsIn() finds lessons only in a 400 or 422 about the request", () => {
  const message = "Unsupported parameter: 'temperature'";
  const count = (
    kind: "invalid_request" | "filtered" | "rate_limited",
    status: number,
  ) => lessonsIn({ kind, status, message }, "chat").length;
  assert.equal(count("invalid_request", 422), 1);
  assert.equal(count("invalid_request", 404), 0);
  assert.equal(count("filtered", 400), 0);
  assert.equal(count("rate_limited", 429), 0);
});

function taught(body: JsonObject, ...lessons: readonly Lesson[]): JsonObject {
  return teachBody(body, lessons).value;
}

Deno.test("a `nearest` lesson replaces a missing effort by the nearest one, and `none` by the lowest", () => {
  const lesson: Lesson = {
    move: "nearest",
    field: "reasoning_effort",
    words: ["low", "high"],
  };
  const sent = (effort: string, words = lesson.words) =>
    taught({ reasoning_effort: effort }, { ...lesson, words }).reasoning_effort;
  assert.equal(sent("none"), "low");
  assert.equal(sent("minimal"), "low");
  assert.equal(sent("medium"), "high");
  assert.equal(sent("max"), "high");
  assert.equal(sent("own-word"), "own-word");
  assert.equal(sent("medium", ["none"]), undefined);
});

Deno.test("an `omit` lesson about two fields together keeps a field that is sent without the other", () => {
  const lesson: Lesson = {
    move: "omit",
    field: "top_p",
    words: ["temperature"],
  };
  assert.deepEqual(taught({ temperature: 1, top_p: 1 }, lesson), {
    temperature: 1,
  });
  const alone = { top_p: 1 };
  assert.equal(taught(alone, lesson), alone);
});

Deno.test("an `omit` lesson removes an emptied object, and does not change a body without the field", () => {
  const lesson: Lesson = { move: "omit", field: "reasoning.effort", words: [] };
  assert.deepEqual(
    taught({ model: "m", reasoning: { effort: "low" } }, lesson),
    { model: "m" },
  );
  const body = { model: "m", reasoning: { summary: "auto" } };
  assert.equal(taught(body, lesson), body);
  assert.deepEqual(teachBody(body, [lesson]).lessons, []);
});

Deno.test("an `omit` lesson removes a field from every element of a list", () => {
  const lesson: Lesson = {
    move: "omit",
    field: "messages[].reasoning_content",
    words: [],
  };
  const user = fromUser("reasoning_content");
  const body = {
    messages: [user, { role: "assistant", reasoning_content: "Hm." }],
  };
  assert.deepEqual(taught(body, lesson), {
    messages: [user, { role: "assistant" }],
  });
});

Deno.test("isLesson() rejects a lesson that does not match the tables", () => {
  const lessons: unknown[] = [
    { move: "omit", field: "messages", words: [] },
    { move: "omit", field: "temperature", words: ["x"] },
    { move: "omit", field: "temperature", words: ["top_p", "top_k"] },
    { move: "omit", field: "constructor", words: [] },
    { move: "respell", field: "max_tokens", words: ["n"] },
    { move: "respell", field: "user", words: ["system"] },
    { move: "nearest", field: "reasoning_effort", words: ["sk-secret"] },
    { move: "nearest", field: "reasoning_effort", words: [] },
    { move: "describe", field: "properties", words: [] },
    { move: "erase", field: "temperature", words: [] },
    { move: "omit", field: "temperature" },
    { move: "clamp", field: "max_tokens", words: ["0x10"] },
    { move: "clamp", field: "n", words: ["10"] },
    "omit temperature",
    null,
  ];
  for (const lesson of lessons) {
    assert.equal(isLesson(lesson), false, JSON.stringify(lesson));
  }
});

// No lesson removes a value that the caller needs, with any field in the error. The errors name every path of a request
// that has every field, in several forms.

const SCHEMA: JsonObject = {
  type: "object",
  title: "T",
  properties: {
    temperature: { type: "string", minLength: 1, pattern: "^a", const: "a" },
    name: { type: "array", items: { type: "number", minimum: 1 } },
  },
  required: ["temperature"],
  additionalProperties: false,
};

const MARK: JsonObject = { type: "ephemeral" };

/** A request in each protocol with every field: those that a lesson may change, and those that no lesson may. */
const BODIES: Readonly<Record<Protocol, JsonObject>> = {
  chat: {
    ...{ model: "m", stream: true, stream_options: { include_usage: true } },
    ...{ max_tokens: 100, n: 2, logprobs: true },
    ...{ temperature: 1, top_p: 1, top_k: 1, seed: 1, stop: ["x"] },
    ...{ frequency_penalty: 1, presence_penalty: 1, logit_bias: { a: 1 } },
    ...{ reasoning_effort: "high", thinking: { type: "enabled" } },
    ...{ user: "u", metadata: { a: "b" }, service_tier: "flex", store: false },
    ...{ prompt_cache_key: "k", verbosity: "low", tool_choice: "required" },
    parallel_tool_calls: false,
    messages: [
      { role: "system", content: "Be short." },
      { role: "developer", content: "Be kind.", name: "n" },
      fromUser([
        { type: "text", text: "temperature", cache_control: MARK },
        { type: "image_url", image_url: { url: "data:," } },
      ]),
      {
        role: "assistant",
        content: "Hm.",
        reasoning_content: "Thought",
        tool_calls: [{
          id: "c",
          type: "function",
          function: { name: "f", arguments: '{"temperature":"a"}' },
        }],
      },
      { role: "tool", tool_call_id: "c", content: "Result" },
    ],
    tools: [{
      type: "function",
      function: {
        name: "f",
        description: "D",
        parameters: SCHEMA,
        strict: true,
      },
    }],
    response_format: {
      type: "json_schema",
      json_schema: { name: "n", schema: SCHEMA, strict: true },
    },
  },
  messages: {
    ...{ model: "m", stream: true, max_tokens: 100, temperature: 1, top_p: 1 },
    ...{ top_k: 1, stop_sequences: ["x"], metadata: { user_id: "u" } },
    thinking: { type: "enabled", budget_tokens: 50 },
    output_config: {
      effort: "high",
      format: { type: "json_schema", schema: SCHEMA },
    },
    system: [{ type: "text", text: "Be short.", cache_control: MARK }],
    messages: [
      fromUser([{ type: "text", text: "temperature", cache_control: MARK }]),
      fromModel([
        { type: "thinking", thinking: "Thought", signature: "s" },
        { type: "tool_use", id: "c", name: "f", input: { name: [1] } },
      ]),
      fromUser([{ type: "tool_result", tool_use_id: "c", content: "Result" }]),
    ],
    tools: [{ name: "f", description: "D", input_schema: SCHEMA }],
    tool_choice: { type: "any" },
  },
  responses: {
    ...{ model: "m", stream: true, max_output_tokens: 100, temperature: 1 },
    ...{ top_p: 1, top_logprobs: 1, store: false, instructions: "Be short." },
    ...{ user: "u", metadata: { a: "b" }, service_tier: "flex" },
    ...{ include: ["reasoning.encrypted_content"], tool_choice: "required" },
    reasoning: { effort: "high", summary: "auto" },
    text: {
      verbosity: "low",
      format: { type: "json_schema", name: "n", schema: SCHEMA },
    },
    input: [
      { role: "developer", content: "Be kind." },
      fromUser([{ type: "input_text", text: "temperature" }]),
      { type: "reasoning", summary: [], encrypted_content: "e" },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "Result" },
    ],
    tools: [{
      type: "function",
      name: "f",
      description: "D",
      parameters: SCHEMA,
      strict: true,
    }],
  },
};

/** The keys whose values no lesson may change, at any place. */
const KEPT_KEYS = [
  ...["model", "stream", "text", "thinking", "arguments", "input", "output"],
  ...["tool_call_id", "call_id", "tool_use_id", "tool_choice", "n", "store"],
  ...["logprobs", "top_logprobs", "logit_bias", "instructions", "type"],
  ...["required", "properties", "signature", "encrypted_content", "url"],
];

/**
 * Returns the values that no lesson may change: texts, calls, results, names of tools, limits and shapes of schemas.
 */
function keptOf(value: JsonValue | undefined, path = ""): readonly string[] {
  if (Array.isArray(value)) {
    return value.flatMap((one, index) => keptOf(one, `${path}.${index}`));
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const isText = typeof inner === "string" &&
      (KEPT_KEYS.includes(key) || key === "content" ||
        key === "name" && !path.startsWith(".messages"));
    const isAmount = /^max_/.test(key);
    const isPlain = KEPT_KEYS.includes(key) && typeof inner !== "object";
    // The limit may change its name. The type of a switch for thinking does not count.
    const place = isAmount ? "limit" : `${path}.${key}`;
    const isSwitch = path === ".thinking" || path.endsWith(".cache_control");
    return [
      ...((isText || isAmount || isPlain) && !isSwitch
        ? [`${place}=${inner}`]
        : []),
      ...keptOf(inner, `${path}.${key}`),
    ];
  });
}

/** Returns every path of a value, as OpenAI and as pydantic write it. */
function pathsOf(value: JsonValue | undefined, path = ""): readonly string[] {
  const inner = Array.isArray(value)
    ? value.flatMap((one, index) => [
      ...pathsOf(one, `${path}[${index}]`),
      ...pathsOf(one, `${path}.${index}`),
    ])
    : isJsonObject(value)
    ? Object.entries(value).flatMap(([key, one]) =>
      pathsOf(one, path === "" ? key : `${path}.${key}`)
    )
    : [];
  return [...path === "" ? [] : [path], ...inner];
}

const FORMS: readonly ((path: string) => {
  readonly message: string;
  readonly param?: string;
})[] = [
  (path) => ({ message: `Unsupported parameter: '${path}'.`, param: path }),
  (path) => ({ message: `${path}: Extra inputs are not permitted` }),
  (path) => ({
    message: `property '${path.split(/[.[]/).at(-1)}' is unsupported`,
  }),
  (path) => ({
    message:
      `${path}: Input should be 'low', 'text', 'system' or 'user', received 'developer'`,
  }),
  (path) => ({
    message: `max_tokens: 100 > 10, which is the maximum; ${path}`,
  }),
];

for (const protocol of PROTOCOLS) {
  Deno.test(`no lesson of any error changes the conversation, a tool or a limit: ${protocol}`, () => {
    const body = BODIES[protocol];
    const kept = new Set(keptOf(body));
    const lessons = new Map<string, Lesson>();
    for (const path of pathsOf(body)) {
      for (const form of FORMS) {
        const failure = { kind: "invalid_request", status: 400 } as const;
        for (const one of lessonsIn({ ...failure, ...form(path) }, protocol)) {
          lessons.set(lessonText(one), one);
        }
      }
    }
    assert.ok(lessons.size > 15, String(lessons.size));
    for (const [text, lesson] of lessons) {
      // This lesson applies only without a limit of the caller: writeRequest() leaves it out otherwise.
      if (lesson.move === "clamp") continue;
      const { value } = teachBody(body, [lesson]);
      const left = new Set(keptOf(value));
      const lost = [...kept].filter((one) => !left.has(one));
      assert.deepEqual(lost, [], text);
    }
  });
}

Deno.test("readLesson() undoes lessonText()", () => {
  const texts = [
    ...LESSONS.flatMap(([, , taught]) => taught),
    ...["omit prefill", "rename tools: 32", "stream stream", "mention image"],
    "omit top_p beside temperature",
    "omit tools[].function.strict of strict tools",
    "describe pattern of strict tools",
    "clamp max_tokens: 8192",
  ];
  assert.ok(texts.length > 20);
  for (const text of texts) {
    const lesson = readLesson(String(text));
    assert.ok(lesson !== undefined, String(text));
    assert.equal(lessonText(lesson), text);
  }
});

Deno.test("readLesson() returns undefined for other text", () => {
  for (
    const text of [
      ...["", "omit", "omit messages", "omit temperature, top_p", "drop user"],
      ...["clamp max_tokens", "clamp max_tokens: 9", "rename tools: 5"],
      ...["describe type", "omit temperature (suspected)", "stream"],
    ]
  ) assert.equal(readLesson(text), undefined, text);
});
