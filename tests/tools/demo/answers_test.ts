import assert from "node:assert/strict";
import type { Ask } from "../../../src/tools/demo/script.ts";
import type {
  Block,
  ToolResultBlock,
} from "../../../src/codecs/canonical/content/block.ts";
import {
  compose as composeFor,
  estimateTokens,
} from "../../../src/tools/demo/answers.ts";
import { objectOf } from "../../../src/base/json.ts";
import { yamlPairs } from "../../support/yaml_table.ts";
import { exampleOf } from "../../../src/tools/demo/schema_example.ts";
import { callInput, toolsToCall } from "../../../src/tools/demo/tool_calls.ts";

type Turn = Ask["turns"][number];

function turn(
  role: Turn["role"],
  ...blocks: readonly (Block | string)[]
): Turn {
  return {
    role,
    blocks: blocks.map((block) =>
      typeof block === "string" ? { kind: "text", text: block } : block
    ),
  };
}

function called(id: string, name: string): Block {
  return { kind: "function_call", id, name, arguments: "{}" };
}

function result(callId: string, ...texts: readonly string[]): ToolResultBlock {
  return {
    kind: "tool_result",
    callId,
    callKind: "function",
    content: texts.map((text) => ({ kind: "text", text })),
    isError: false,
  };
}

const FILE: Block = { kind: "file", source: { type: "text", text: "x" } };

function askOf(
  turns: readonly (Turn | string)[],
  fields: Partial<Ask> = {},
): Ask {
  return {
    family: "B",
    protocol: "messages",
    model: "demo-b",
    stream: false,
    turns: turns.map((one) =>
      typeof one === "string" ? turn("user", one) : one
    ),
    tools: [],
    ...fields,
  };
}

function compose(ask: Ask) {
  return composeFor("messages", ask);
}

function textOf(ask: Ask): string {
  return compose(ask).blocks.map((block) =>
    block.kind === "text" ? block.text : ""
  ).join("");
}

Deno.test("compose() quotes the question and names the model", () => {
  assert.equal(
    textOf(askOf(["What?"])),
    'You said: "What?". This is demo-b of the simulated family B, answering over Messages; no real model was asked.',
  );
});

Deno.test("compose() quotes the last text that is not blank, and cuts a long one", () => {
  const last = turn("user", "reminder", "x".repeat(900), " ");
  const quoted = textOf(askOf(["before", last])).match(/"(x+)…"/)?.[1];
  assert.equal(quoted?.length, 400);
});

Deno.test("compose() allows the actions that Claude Code's auto mode checks", () => {
  const question =
    "<transcript>\nBash ls\n</transcript>\n\nYour ENTIRE response MUST begin with <block>.";
  assert.equal(textOf(askOf([question])), "<block>no</block>");
});

Deno.test("compose() answers an empty conversation", () => {
  assert.match(textOf(askOf([turn("user")])), /^You said nothing\./);
});

Deno.test("compose() writes the requested number of words", () => {
  const text = textOf(askOf(["Write 1000 words about rain"]));
  assert.equal(text.split(" ").length, 1000);
  assert.equal(textOf(askOf(["Write 999999 words"])).split(" ").length, 20_000);
});

Deno.test("compose() quotes every result of a tool by the tool's name", () => {
  const text = textOf(askOf([
    "Use both",
    turn("assistant", called("1", "get_a"), called("2", "get_b")),
    turn("tool", result("1", "one"), result("2")),
  ]));
  assert.match(
    text,
    /^The tool get_a returned: one\. The tool get_b returned: nothing\. /,
  );
});

Deno.test("compose() adds reasoning before the answer on request", () => {
  const [reasoning, text] =
    compose(askOf(["Hm?"], { reasoning: { effort: "low", summary: "none" } }))
      .blocks;
  assert.equal(reasoning?.kind, "reasoning");
  assert(reasoning?.isHidden);
  assert.equal(text?.kind, "text");
});

Deno.test("compose() counts tokens from the real lengths", () => {
  const history = [
    "one two three four",
    turn("assistant", "five six"),
    turn("user", "seven", FILE),
  ];
  const ask = askOf(history, { reasoning: { mode: "adaptive" } });
  const { blocks, usage } = compose(ask);
  const outputs = blocks.map(({ text }) => estimateTokens(text));
  assert.deepEqual(usage, {
    inputTokens: (3 + 5) + (3 + 2) + (3 + 2 + 256),
    cachedInputTokens: 3 + 5,
    outputTokens: outputs.reduce((total, tokens) => total + tokens, 0),
    reasoningTokens: outputs[0],
  });
});

Deno.test("compose() ends with exactly as many tokens as the limit allows", async (t) => {
  for (const limit of [1, 2, 12, 25]) {
    await t.step(`${limit}`, () => {
      const { stop, usage } = compose(
        askOf(["Hm?"], {
          reasoning: { mode: "adaptive" },
          maxOutputTokens: limit,
        }),
      );
      assert.equal(stop.reason, "max_tokens");
      assert.equal(usage.outputTokens, limit);
    });
  }
});

Deno.test("compose() does not cut a character in two", () => {
  const { blocks } = compose(askOf(["🙂🙂🙂🙂🙂"], { maxOutputTokens: 4 }));
  const [block] = blocks;
  assert(block?.kind === "text" && block.text.isWellFormed());
});

Deno.test("compose() leaves out a call that does not fit", () => {
  const tool = {
    kind: "function" as const,
    name: "get_weather",
    parameters: { properties: { city: {} } },
  };
  const fields = { tools: [tool], maxOutputTokens: 3 };
  const { blocks, stop } = compose(askOf(["get_weather"], fields));
  assert.deepEqual(blocks, []);
  assert.equal(stop.reason, "max_tokens");
});

Deno.test("compose() ends before the first of the stop sequences", () => {
  const { blocks, stop } = compose(
    askOf(["Hm?"], { stop: ["", "family", "said"] }),
  );
  assert.deepEqual(blocks, [{ kind: "text", text: "You " }]);
  assert.deepEqual(stop, { reason: "stop_sequence", sequence: "said" });
  const atOnce = compose(askOf(["Hm?"], { stop: ["You"] }));
  assert.deepEqual(atOnce.blocks, []);
});

Deno.test("compose() folds a conversation into one block for a compaction", () => {
  const trigger: Block = {
    kind: "opaque",
    protocol: "responses",
    type: "compaction_trigger",
    value: null,
    weight: "ignore",
  };
  const { blocks } = compose(askOf(["one", "two", turn("user", trigger)]));
  assert.equal(blocks.length, 1);
  assert(blocks[0]?.kind === "text");
  assert.match(blocks[0].text, /2 turns, 2 of the user\. Last asked: "two"/);
});

const EXAMPLES = yamlPairs(`
a text: { type: string } → demo
no type at all: {} → demo
a boolean: { type: boolean } → true
null: { type: "null" } → null
several types: { type: ["null", integer] } → 1
a constant: { const: 7 } → 7
a default: { type: string, default: x } → x
an example: { type: string, examples: [y, z] } → y
a choice: { enum: [celsius, kelvin] } → celsius
a number: { type: number } → 1
a least number: { type: integer, minimum: 5 } → 5
an excluded least number: { type: integer, exclusiveMinimum: 5 } → 6
a greatest number: { type: integer, maximum: -3 } → -3
an excluded greatest number: { type: integer, exclusiveMaximum: 0 } → -1
a step: { type: integer, minimum: 7, multipleOf: 5 } → 10
a format: { type: string, format: date } → "2026-01-01"
a least length: { type: string, minLength: 6 } → demooo
a greatest length: { type: string, maxLength: 2 } → de
a list: { type: array, items: { type: integer } } → [1]
a list without a type: { items: { const: 2 }, minItems: 2 } → [2, 2]
an empty list: { type: array, maxItems: 0 } → []
the required fields alone: { type: object, properties: { city: {}, unit: {},
  days: { type: integer } }, required: [city, days] } → { city: demo, days: 1 }
the first field where none is required: { properties: { path: {}, limit: {} } } → { path: demo }
an object without fields: { type: object } → {}
the first alternative: { anyOf: [{ type: "null" }, { const: 3 }] } → 3
one of several: { oneOf: [{ type: boolean }, { const: 3 }] } → true
no alternative but null: { anyOf: [{ type: "null" }] } → demo
all of several: { allOf: [{ properties: { a: { const: 1 } }, required: [a] },
  { properties: { b: { const: 2 } }, required: [b] }] } → { a: 1, b: 2 }
a reference: { properties: { spot: { "$ref": "#/$defs/a~1b" } },
  "$defs": { "a/b": { const: here } } } → { spot: here }
a reference to elsewhere: { "$ref": "https://example.com/x" } → demo
a reference to itself: { "$ref": "#" } → demo
`);

Deno.test("exampleOf() makes a value for", async (t) => {
  for (const [name, schema, example] of EXAMPLES) {
    await t.step(
      name,
      () => assert.deepEqual(exampleOf(objectOf(schema)), example),
    );
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

function tool(name: string, kind: "function" | "custom" = "function") {
  return { kind, name, schema: {} };
}

function askWith(prompt: string, names: readonly string[]): Ask {
  return askOf([prompt], {
    tools: names.map((name) => ({ kind: "function", name })),
  });
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

Deno.test("toolsToCall() returns no tool after results, unless tool_choice requires one", () => {
  const before = askWith("Use get_a", ["get_a"]);
  const after: Ask = {
    ...before,
    turns: [
      ...before.turns,
      turn("assistant", called("1", "get_a")),
      turn("tool", result("1", "done")),
    ],
  };
  const forced: Ask = { ...after, toolChoice: { type: "required" } };
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
  const schema = { properties: { at: { type: "string", format: "uri" } } };
  assert.equal(
    callInput({ ...tool("f"), schema }, "Use f"),
    '{"at":"https://example.com/"}',
  );
});

Deno.test("callInput() returns the prompt's fenced block for a custom tool, or a fitting text", () => {
  const fenced = "Use it:\n```js\nconst a = 1;\n```\nThanks";
  assert.equal(callInput(tool("exec", "custom"), fenced), "const a = 1;");
  assert.match(
    callInput(tool("apply_patch", "custom"), "go"),
    /^\*\*\* Begin Patch\n/,
  );
  assert.equal(callInput(tool("say", "custom"), "go"), "hello from the demo");
});
