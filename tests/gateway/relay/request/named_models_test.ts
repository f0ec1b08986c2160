import assert from "node:assert/strict";
import type { Operation } from "../../../../src/base/protocol.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import { createRequestHeadReader } from "../../../../src/gateway/relay/request/request_head.ts";

/** Returns the models in a body as `field: model`, read in chunks of `size` bytes. */
function named(
  fields: string,
  pieceBytes = Infinity,
  operation: Operation = "chat_completions",
): readonly string[] {
  const bytes = new TextEncoder().encode(`{"model":"asked",${fields}}`);
  const reader = createRequestHeadReader({ operation });
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    reader.push(bytes.slice(start, start + pieceBytes));
  }
  return reader.end().namedModels.map(({ param, name, isDrawing }) =>
    `${param}: ${isDrawing ? "drawing " : ""}${name}`
  );
}

/** Fields that could make a provider choose another model. */
const NAMING: Readonly<Record<string, readonly string[]>> = {
  '"models":["a","b"]': ["models: a", "models: b"],
  '"mod\\u0065ls":["\\u0061"]': ["models: a"],
  '"fallback_models":["a"]': ["fallback_models: a"],
  '"fallback_model":"a"': ["fallback_model: a"],
  '"fallbacks":[{"model":"a"},{"model":"b","max_tokens":1}]': [
    "fallbacks: a",
    "fallbacks: b",
  ],
  '"fallbacks":[{"model":"a","model":"b"}]': ["fallbacks: a", "fallbacks: b"],
  '"fallbacks":[{"MODEL":"a"}]': ["fallbacks: a"],
  '"fallbacks":["a",{"provider":"p","model":"b"}]': [
    "fallbacks: a",
    "fallbacks: b",
  ],
  '"fallbacks":[{"asked":["a","b"]}]': ["fallbacks: a", "fallbacks: b"],
  '"context_window_fallbacks":[{"asked":["a"]}]': [
    "context_window_fallbacks: a",
  ],
  '"router_settings_override":{"fallbacks":[{"asked":["a"]}]}': [
    "router_settings_override: a",
  ],
  '"extra_body":{"models":["a"],"model":"b","x":{"models":["c"]}}': [
    "extra_body: a",
    "extra_body: b",
  ],
  '"providerOptions":{"gateway":{"models":["a"],"order":["x"]}}': [
    "providerOptions: a",
  ],
  '"preset":"a"': ["preset: a"],
  '"plugins":[{"id":"fusion","model":"a","analysis_models":["b"]}]': [
    "plugins: a",
    "plugins: b",
  ],
  '"tools":[{"type":"advisor_20260301","name":"advisor","model":"a"}]': [
    "tools: a",
  ],
  '"tools":[{"type":"openrouter:subagent","parameters":{"model":"a"}}]': [
    "tools: a",
  ],
  '"tools":[{"type":"image_generation","model":"a","type":"advisor"}]': [
    "tools: a",
  ],
  '"tools":[{"type":"image_generation"},{"model":"a"}]': ["tools: a"],
  '"tools":[{"type":"image_generation","model":"a"}]': ["tools: drawing a"],
  '"tools":[{"model":"a","type":"image_generation"}]': ["tools: drawing a"],
  '"tools":[{"type":"image_generation","svg":{"model":"a"}}]': ["tools: a"],
  '"tools":[{"type":"openrouter:subagent","parameters":{"tools":[{"type":"openrouter:image_generation","parameters":{"model":"a"}}],"model":"b"}}]':
    ["tools: drawing a", "tools: b"],
  // These tools choose a model themselves.
  '"tools":[{"type":"openrouter:advisor"}]': ["tools: undefined"],
  '"tools":[{"type":"openrouter:advisor","parameters":{"model":"a"}}]': [
    "tools: a",
  ],
  '"tools":[{"type":"openrouter:advisor","parameters":{"tools":[{"type":"x","parameters":{"model":"a"}}]}}]':
    ["tools: a", "tools: undefined"],
  '"tools":[{"type":"openrouter:fusion","parameters":{"model":"a"}}]': [
    "tools: a",
    "tools: undefined",
  ],
  '"tools":[{"parameters":{"analysis_models":["a"]},"type":"openrouter:fusion"}]':
    ["tools: a"],
  '"compound_custom":{"models":{"answering_model":"a","reasoning_model":"b"}}':
    ["compound_custom: a", "compound_custom: b"],
  // Tools that are defined in the middle of a conversation.
  '"input":[{"type":"additional_tools","tools":[{"type":"image_generation","model":"a"},{"type":"x","model":"b"}]}]':
    ["input: drawing a", "input: b"],
};

/** Fields that name no model for the answer. */
const NAMELESS = [
  '"models":null',
  '"models":[]',
  '"route":"fallback"',
  '"provider":{"order":["openai"],"allow_fallbacks":true}',
  '"plugins":[{"id":"auto-router","allowed_models":["openai/*"]}]',
  '"metadata":{"models":["a"],"model":"b"}',
  '"messages":[{"role":"user","content":"x","models":["a"]}]',
  '"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"tool","input":{"definition":{"model":"a"}}}]}]',
  '"input":[{"type":"function_call","name":"tools","arguments":"{}"},"tools"]',
  `"tools":[{"name":"Agent","input_schema":{"type":"object","properties":{"model":{"enum":["a"]}}}}]`,
  `"tools":[{"type":"function","function":{"name":"f","parameters":{"model":"a"}}}]`,
  `"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"model":{"type":"string"}},"required":["model"]}}]`,
];

Deno.test("A RequestHeadReader lists every additional model that a body names, whatever the chunk size", () => {
  for (const [fields, expected] of Object.entries(NAMING)) {
    for (const pieceBytes of [1, 2, 7, 64, Infinity]) {
      assert.deepEqual(named(fields, pieceBytes), expected, fields);
    }
  }
});

Deno.test("A RequestHeadReader finds the models of tools defined in a Messages conversation, whatever the chunk size", () => {
  const addition = (definition: string) =>
    `"messages":[{"role":"user","content":"x"},{"content":[{"type":"text","text":"tool"},{"type":"tool_addition","t\\u006fol":{"type":"tool_definition","definition":${definition}}}],"role":"system"}]`;
  const cases = [
    ['{"type":"advisor_20260301","model":"a"}', ["messages: a"]],
    ['{"name":"f","input_schema":{"model":"a"}}', []],
    ['{"Model":"a"}', ["messages: a"]],
  ] as const;
  for (const [definition, expected] of cases) {
    for (const pieceBytes of [1, 2, 7, 64, Infinity]) {
      assert.deepEqual(
        named(addition(definition), pieceBytes, "messages"),
        expected,
        definition,
      );
    }
  }
});

Deno.test("A RequestHeadReader ignores fields that name no model", () => {
  for (const fields of NAMELESS) assert.deepEqual(named(fields), [], fields);
});

Deno.test("A RequestHeadReader rejects duplicate fields that name models, in any letter case or escape", () => {
  const twice = [
    ['"models":[],"models":["a"]', "models"],
    ['"models":[],"mod\\u0065ls":["a"]', "models"],
    ['"Models":["a"]', "models"],
    ['"model\u017f":["a"]', "models"],
    ['"model\\u017f":["a"]', "models"],
    ['"fallbac\u212as":["a"]', "fallbacks"],
    ['"FALLBACKS":["a"]', "fallbacks"],
    ['"tools":[],"Tools":[]', "tools"],
    ['"provideroptions":{}', "providerOptions"],
  ] as const;
  for (const [fields, param] of twice) {
    try {
      named(fields);
      assert.fail(`${fields} was taken`);
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error));
      assert.equal(error.param, param);
    }
  }
});

Deno.test("A RequestHeadReader keeps a limited number of model names, and reports if a body has more", () => {
  const names = Array.from({ length: 10_000 }, () => "a");
  for (
    const fields of [
      `"models":${JSON.stringify(names)}`,
      `"tools":${JSON.stringify([{ models: names }])}`,
      `"tools":${JSON.stringify(names.map((model) => ({ model })))}`,
    ]
  ) {
    const found = named(fields);
    assert.equal(found.length, 101);
    assert.match(found.at(-1) ?? "", /: undefined$/);
  }
});
