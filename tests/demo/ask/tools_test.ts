import assert from "node:assert/strict";
import { type Ask, createTurn, type Tool } from "../../../src/demo/ask/ask.ts";
import { callInput, toolsToCall } from "../../../src/demo/ask/tools.ts";

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

Deno.test("toolsToCall() takes the tools that the user asks for", async (t) => {
  for (const [prompt, offered, called] of CHOICES) {
    await t.step(`"${prompt}"`, () => {
      const tools = toolsToCall(askWith(prompt, offered));
      assert.deepEqual(tools.map((tool) => tool.name), called);
    });
  }
});

Deno.test("toolsToCall() calls nothing when results have just come back, unless it must", () => {
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

Deno.test("callInput() takes the JSON object of the prompt as it is written", () => {
  const prompt = 'Use f with { "n": 1.0, "s": "}" } {and no more}';
  assert.equal(callInput(tool("f"), prompt), '{ "n": 1.0, "s": "}" }');
});

Deno.test("callInput() makes arguments where the prompt has none", () => {
  assert.equal(callInput({ ...tool("f"), schema: {} }, "Use f {now}"), "{}");
  const schema = { properties: { url: { type: "string" } } };
  assert.equal(
    callInput({ ...tool("f"), schema }, "Use f"),
    '{"url":"https://example.com/"}',
  );
});

Deno.test("callInput() gives a custom tool the fenced block of the prompt, or a text that fits", () => {
  const fenced = "Use it:\n```js\nconst a = 1;\n```\nThanks";
  assert.equal(callInput(tool("exec", "custom"), fenced), "const a = 1;");
  assert.match(
    callInput(tool("apply_patch", "custom"), "go"),
    /^\*\*\* Begin Patch\n/,
  );
  assert.equal(callInput(tool("say", "custom"), "go"), "hello from the demo");
});
