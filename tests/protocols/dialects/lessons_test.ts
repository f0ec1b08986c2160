import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/core/json.ts";
import { teachBody } from "../../../src/protocols/dialects/apply_lessons.ts";
import {
  isLesson,
  type Lesson,
  lessonsIn,
  lessonText,
} from "../../../src/protocols/dialects/lessons.ts";

/** A refusal in a provider's words, and what it teaches. */
const LESSONS: readonly (readonly [
  protocol: "chat" | "messages" | "responses",
  message: string,
  lessons: readonly string[],
])[] = [
  ["chat", "Argument not supported on this model: presencePenalty", [
    "omit presence_penalty",
  ]],
  ["responses", "Model m does not support parameter reasoningEffort.", [
    "omit reasoning.effort",
  ]],
  ["messages", "This model does not support the effort parameter.", [
    "omit output_config.effort",
  ]],
  [
    "messages",
    "tools.0.custom.cache_control.ttl: Extra inputs are not permitted",
    [
      "omit tools[].cache_control",
    ],
  ],
  [
    "messages",
    "thinking.enabled.budget_tokens: Extra inputs are not permitted",
    [
      "omit thinking",
    ],
  ],
  [
    "chat",
    'Unknown name "const" at \'tools[0].function_declarations[5].parameters.properties[8].value\': Cannot find field.\nInvalid JSON payload received. Unknown name "seed": Cannot find field.',
    [
      "describe const",
      "omit seed",
    ],
  ],
  ["chat", "Unsupported parameter: 'max_completion_tokens'", [
    "respell max_completion_tokens: max_tokens",
  ]],
  [
    "chat",
    "messages[0].role: unknown variant `developer`, expected one of `system`, `user`",
    [
      "respell developer: system",
    ],
  ],
  [
    "chat",
    "messages[0].role: unknown variant `tool`, expected `user` or `assistant`",
    [],
  ],
  ["chat", "Invalid reasoning_effort: xhigh", [
    "nearest reasoning_effort: none, minimal, low, medium, high, max",
  ]],
  ["chat", "`reasoning_effort` must be one of `none` or `default`", [
    "nearest reasoning_effort: none",
  ]],
  [
    "chat",
    'invalid reasoning value: \'minimal\' (must be "high", "medium", "low", true, or false)',
    ["nearest reasoning_effort: low, medium, high"],
  ],
  [
    "messages",
    "`temperature` and `top_p` cannot both be specified for this model.",
    ["omit top_p beside temperature"],
  ],
  ["messages", "`messages` and `top_p` cannot both be specified", []],
  // A schema's property has the name of a setting.
  [
    "messages",
    "tools.0.custom.input_schema.properties.temperature: Extra inputs are not permitted",
    [],
  ],
  ["chat", "property 'tool_calls' is unsupported", []],
  ["chat", "Unsupported parameter: 'store' is not supported", []],
  [
    "chat",
    "response_format.json_schema.schema: Extra inputs are not permitted",
    [],
  ],
];

for (const [protocol, message, lessons] of LESSONS) {
  Deno.test(`a refusal in ${protocol} teaches [${lessons}]: ${message.slice(0, 60)}`, () => {
    const failure = { kind: "invalid_request", status: 400, message } as const;
    const found = lessonsIn(failure, protocol);
    assert.deepEqual(found.map(lessonText), lessons);
    for (const lesson of found) {
      assert.ok(isLesson(JSON.parse(JSON.stringify(lesson))));
    }
  });
}

Deno.test("only a 400 or 422 about the request teaches", () => {
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

Deno.test("an effort that a provider lacks becomes the nearest, and reasoning that cannot be switched off the lowest", () => {
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

Deno.test("a field that is rejected beside another one stays where it is alone", () => {
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

Deno.test("an object that a lesson empties goes, and a body without the field is the same object", () => {
  const lesson: Lesson = { move: "omit", field: "reasoning.effort", words: [] };
  assert.deepEqual(
    taught({ model: "m", reasoning: { effort: "low" } }, lesson),
    {
      model: "m",
    },
  );
  const body = { model: "m", reasoning: { summary: "auto" } };
  assert.equal(taught(body, lesson), body);
  assert.deepEqual(teachBody(body, [lesson]).lessons, []);
});

Deno.test("a field is left out of every element of a list, and a list without it is kept", () => {
  const lesson: Lesson = {
    move: "omit",
    field: "messages[].reasoning_content",
    words: [],
  };
  const user = { role: "user", content: "reasoning_content" };
  const body = {
    messages: [user, { role: "assistant", reasoning_content: "Hm." }],
  };
  assert.deepEqual(taught(body, lesson), {
    messages: [user, { role: "assistant" }],
  });
});

Deno.test("a lesson of another gateway must match the tables", () => {
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
