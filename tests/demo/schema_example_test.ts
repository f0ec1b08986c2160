import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../src/core/json.ts";
import type { Ask, Tool } from "../../src/demo/ask.ts";
import { createTurn } from "../support/upstream/strict_provider/turn.ts";
import {
  callInput,
  exampleOf,
  toolsToCall,
} from "../../src/demo/schema_example.ts";

const EXAMPLES: readonly (readonly [
  name: string,
  schema: JsonObject,
  example: JsonValue,
])[] = [
  ["a text", { type: "string" }, "demo"],
  ["no type at all", {}, "demo"],
  ["a boolean", { type: "boolean" }, true],
  ["null", { type: "null" }, null],
  ["several types", { type: ["null", "integer"] }, 1],
  ["a constant", { const: 7 }, 7],
  ["a default", { type: "string", default: "x" }, "x"],
  ["an example", { type: "string", examples: ["y", "z"] }, "y"],
  ["a choice", { enum: ["celsius", "kelvin"] }, "celsius"],
  ["a number", { type: "number" }, 1],
  ["a least number", { type: "integer", minimum: 5 }, 5],
  ["an excluded least number", { type: "integer", exclusiveMinimum: 5 }, 6],
  ["a greatest number", { type: "integer", maximum: -3 }, -3],
  ["an excluded greatest number", { type: "integer", exclusiveMaximum: 0 }, -1],
  ["a step", { type: "integer", minimum: 7, multipleOf: 5 }, 10],
  ["a format", { type: "string", format: "date" }, "2026-01-01"],
  ["a least length", { type: "string", minLength: 6 }, "demooo"],
  ["a greatest length", { type: "string", maxLength: 2 }, "de"],
  ["a list", { type: "array", items: { type: "integer" } }, [1]],
  ["a list without a type", { items: { const: 2 }, minItems: 2 }, [2, 2]],
  ["an empty list", { type: "array", maxItems: 0 }, []],
  [
    "the required fields alone",
    {
      type: "object",
      properties: { city: {}, unit: {}, days: { type: "integer" } },
      required: ["city", "days"],
    },
    { city: "Berlin", days: 1 },
  ],
  [
    "the first field where none is required",
    { properties: { path: {}, limit: {} } },
    { path: "demo.txt" },
  ],
  ["an object without fields", { type: "object" }, {}],
  [
    "the name of a list for its items",
    { type: "object", properties: { emails: { type: "array", items: {} } } },
    { emails: ["demo@example.com"] },
  ],
  ["the first alternative", { anyOf: [{ type: "null" }, { const: 3 }] }, 3],
  ["one of several", { oneOf: [{ type: "boolean" }, { const: 3 }] }, true],
  ["no alternative but null", { anyOf: [{ type: "null" }] }, "demo"],
  [
    "all of several",
    {
      allOf: [
        { properties: { a: { const: 1 } }, required: ["a"] },
        { properties: { b: { const: 2 } }, required: ["b"] },
      ],
    },
    { a: 1, b: 2 },
  ],
  [
    "a reference",
    {
      properties: { spot: { $ref: "#/$defs/a~1b" } },
      $defs: { "a/b": { const: "here" } },
    },
    { spot: "here" },
  ],
  ["a reference to elsewhere", { $ref: "https://example.com/x" }, "demo"],
  ["a reference to itself", { $ref: "#" }, "demo"],
];

Deno.test("exampleOf() makes a value for", async (t) => {
  for (const [name, schema, example] of EXAMPLES) {
    await t.step(name, () => assert.deepEqual(exampleOf(schema), example));
  }
});

Deno.test("exampleOf() ends for a recursive schema", () => {
  const example = exampleOf({
    type: "object",
    properties: { child: { $ref: "#" }, list: { items: { $ref: "#" } } },
    required: ["child", "list"],
  });
  assert(JSON.stringify(example).length < 10_000);
});

function tool(name: string, kind: Tool["kind"] = "function"): Tool {
  return { kind, name, namespace: undefined, description: "", schema: {} };
}

function askWith(prompt: string, names: readonly string[]): Ask {
  return {
    family: "A",
    protocol: "chat",
    model: "demo-a",
    isStream: false,
    turns: [createTurn("user", { texts: [prompt] })],
    tools: names.map((name) => tool(name)),
    toolChoice: { mode: "auto", names: undefined },
    mayCallInParallel: true,
    reasoning: "none",
    maxOutputTokens: undefined,
    stopSequences: [],
    format: undefined,
    isCompaction: false,
  };
}

const CHOICES: readonly (readonly [
  prompt: string,
  offered: readonly string[],
  called: readonly string[],
])[] = [
  ["What is the weather?", ["get_weather"], []],
  ["What does get_weather say?", ["get_weather"], ["get_weather"]],
  ["What does listFiles say?", ["listFiles"], ["listFiles"]],
  ["What does get_weather_now say?", ["get_weather"], []],
  ["Write a haiku", ["Write"], []],
  ["Use the `Write` tool", ["Read", "Write"], ["Write"]],
  ["Please call Read", ["Read", "Write"], ["Read"]],
  ["run the search", ["search"], ["search"]],
  ["Use a tool", ["Read", "Write"], ["Read"]],
  [
    "<system-reminder>\nUse a tool\n</system-reminder>\n\nHi\n\n" +
    "<system-reminder>\nrun Read\n</system-reminder>",
    ["Read"],
    [],
  ],
  ["Use your tools get_a and get_b", ["get_a", "get_b"], ["get_a", "get_b"]],
  ["Use a tool", [], []],
];

Deno.test("toolsToCall() returns the tools that the prompt names", async (t) => {
  for (const [prompt, offered, called] of CHOICES) {
    await t.step(`"${prompt}"`, () => {
      const tools = toolsToCall(askWith(prompt, offered));
      assert.deepEqual(tools.map((tool) => tool.name), called);
    });
  }
});

Deno.test("toolsToCall() calls nothing after results, unless it must", () => {
  const before = askWith("Use get_a", ["get_a"]);
  const after: Ask = {
    ...before,
    turns: [
      ...before.turns,
      createTurn("assistant", { calls: [{ id: "1", name: "get_a" }] }),
      createTurn("tool", { callId: "1", texts: ["done"] }),
    ],
  };
  const forced: Ask = {
    ...after,
    toolChoice: { mode: "required", names: undefined },
  };
  assert.equal(toolsToCall(before).length, 1);
  assert.equal(toolsToCall(after).length, 0);
  assert.equal(toolsToCall(forced).length, 1);
});

Deno.test("callInput() uses the JSON object of the prompt unchanged", () => {
  const prompt = 'Use f with { "n": 1.0, "s": "}" } {and no more}';
  assert.equal(callInput(tool("f"), prompt), '{ "n": 1.0, "s": "}" }');
});

Deno.test("callInput() creates arguments when the prompt has none", () => {
  assert.equal(callInput({ ...tool("f"), schema: {} }, "Use f {now}"), "{}");
  const schema = { properties: { url: { type: "string" } } };
  assert.equal(
    callInput({ ...tool("f"), schema }, "Use f"),
    '{"url":"https://example.com/"}',
  );
});

Deno.test("callInput() returns the fenced block of the prompt for a custom tool, or a text that fits", () => {
  const fenced = "Use it:\n```js\nconst a = 1;\n```\nThanks";
  assert.equal(callInput(tool("exec", "custom"), fenced), "const a = 1;");
  assert.match(
    callInput(tool("apply_patch", "custom"), "go"),
    /^\*\*\* Begin Patch\n/,
  );
  assert.equal(callInput(tool("say", "custom"), "go"), "hello from the demo");
});
