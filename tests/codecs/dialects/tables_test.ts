import assert from "node:assert/strict";
import { wordList } from "../../../src/base/collections.ts";
import { SERVICE_NAMES, SERVICES } from "../../../src/services/services.ts";
import {
  CLAUDE_MODELS,
  claudeRowFor,
  MESSAGES_PROVIDERS,
  parseClaudeModel,
} from "../../../src/codecs/dialects/claude_models.ts";
import {
  type ModelRow,
  rulesFor,
} from "../../../src/codecs/dialects/model_rows.ts";
import {
  COHERE_MODELS,
  DOUBAO_MODELS,
  GEMINI_MODELS,
  GPT_OSS_MODELS,
  GROQ_MODELS,
  MISTRAL_MODELS,
  XAI_MODELS,
} from "../../../src/codecs/dialects/effort_models.ts";
import { OPENAI_MODELS } from "../../../src/codecs/dialects/openai_models.ts";
import { CHAT_PROVIDERS } from "../../../src/codecs/dialects/chat_providers.ts";
import { TEMPLATE_MODELS } from "../../../src/codecs/dialects/chat_rules.ts";
import {
  DEEPSEEK_MODELS,
  GLM_MODELS,
  KIMI_MODELS,
  MINIMAX_MODELS,
  QWEN_MODELS,
} from "../../../src/codecs/dialects/thinking_models.ts";
import { RESPONSES_PROVIDERS } from "../../../src/codecs/dialects/responses_providers.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { received } from "../../support/dialects/upstream_request.ts";
import {
  claudeSchemaFault,
  openAiSchemaFault,
} from "../../support/upstream/schema_rules.ts";

// Every row of the dialect tables must apply to its examples, and name the sources of its rules.

const MODEL_TABLES: Readonly<Record<string, readonly ModelRow<unknown>[]>> = {
  OPENAI_MODELS,

  KIMI_MODELS,
  DEEPSEEK_MODELS,
  GLM_MODELS,
  MINIMAX_MODELS,
  QWEN_MODELS,
  GROQ_MODELS,
  MISTRAL_MODELS,
  GEMINI_MODELS,
  GPT_OSS_MODELS,
  XAI_MODELS,
  COHERE_MODELS,
  DOUBAO_MODELS,
  TEMPLATE_MODELS,
  ...Object.fromEntries(
    CHAT_PROVIDERS.filter(({ models }) => models !== undefined)
      .map(({ services, models = [] }) => [services.join(), models]),
  ),
};

for (const [name, rows] of Object.entries(MODEL_TABLES)) {
  Deno.test(`rulesFor() finds each row of ${name} by its examples`, () => {
    for (const row of rows) {
      assert.ok(row.examples.length > 0, String(row.models));
      for (const example of row.examples) {
        assert.equal(rulesFor(rows, example), row.rules, example);
        assert.equal(
          rulesFor(rows, `vendor/${example.toUpperCase()}`),
          row.rules,
        );
      }
    }
  });

  Deno.test(`each row of ${name} names its sources`, () => {
    for (const { models, sources } of rows) {
      assertSources(sources, String(models));
    }
  });
}

Deno.test("claudeRowFor() finds each row of CLAUDE_MODELS by its examples, and each names its sources", () => {
  for (const row of CLAUDE_MODELS) {
    assert.ok(row.examples.length > 0, String(row.from));
    for (const example of row.examples) {
      const claude = parseClaudeModel(example);
      assert.ok(claude !== undefined, example);
      assert.equal(claudeRowFor(claude), row, example);
    }
    assertSources(row.sources, row.examples[0]);
  }
});

Deno.test("each provider has one row in its table and names its sources", () => {
  const tables: readonly (readonly {
    readonly services: readonly string[];
    readonly sources: readonly string[];
  }[])[] = [
    RESPONSES_PROVIDERS,
    MESSAGES_PROVIDERS.map((row) => ({ ...row, services: [row.host] })),
    CHAT_PROVIDERS,
  ];
  for (const rows of tables) {
    const services = rows.flatMap((row) => row.services);
    assert.equal(new Set(services).size, services.length);
    for (const row of rows) assertSources(row.sources, row.services[0]);
  }
});

/** Endpoints of services without a row, with the reason. */
const WITHOUT_ROW: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    wordList("anthropic aws-claude azure-claude bedrock-claude vertex-claude")
      .map((service) => [
        `${service} messages`,
        "every model is a Claude: CLAUDE_MODELS has their rows, at any provider",
      ]),
  ),
  ...Object.fromEntries(
    wordList(`
      zai bigmodel openrouter kimi moonshot minimax deepseek synthetic
      dashscope fireworks ollama vllm sglang llamacpp lmstudio litellm
    `).map((service) => [
      `${service} messages`,
      "translations write only what every server of Messages accepts, or follow the rules of a Claude",
    ]),
  ),
};

Deno.test("each endpoint of a preset has a row in a table of its protocol, or a reason to have none", () => {
  const rows: Readonly<Record<string, readonly string[]>> = {
    chat: CHAT_PROVIDERS.flatMap(({ services }) => services),
    responses: RESPONSES_PROVIDERS.flatMap(({ services }) => services),
    messages: [],
    // Text completions are never translated.
    completions: SERVICE_NAMES,
  };
  const missing = SERVICE_NAMES.flatMap((service) =>
    Object.keys(SERVICES[service].endpoints)
      .filter((endpoint) => !rows[endpoint]?.includes(service))
      .map((endpoint) => `${service} ${endpoint}`)
  );
  assert.deepEqual(missing.sort(), Object.keys(WITHOUT_ROW).sort());
});

Deno.test("each service without endpoints except `custom` has a row", () => {
  const chat = CHAT_PROVIDERS.flatMap(({ services }) => services);
  const bare = SERVICE_NAMES.filter((service) =>
    Object.keys(SERVICES[service].endpoints).length === 0
  );
  const missing = bare.filter((service) => !chat.includes(service));
  assert.deepEqual(missing, ["custom"]);
});

function assertSources(
  sources: readonly string[],
  row: string | undefined,
): void {
  assert.ok(sources.length > 0, row);
  for (const source of sources) assert.match(source, /^https:\/\/\S+$/, row);
}

// Schemas that a provider refuses in any tool, strict or not. One such tool of an MCP server makes every request of a
// session fail.

/** Returns the sent schema of a tool, `strict`, and the dropped fields. */
function sent(parameters: JsonObject, target: string, strict = false) {
  const { body, dropped } = received("responses", target, {
    tools: [{ type: "function", name: "f", parameters, strict }],
  });
  assert.ok(Array.isArray(body.tools));
  const [tool] = body.tools;
  assert.ok(isJsonObject(tool));
  const wire = isJsonObject(tool.function) ? tool.function : tool;
  const schema = wire.parameters ?? wire.input_schema;
  assert.ok(isJsonObject(schema));
  return { schema, strict: wire.strict, dropped };
}

const OPENAI = [
  "chat openai gpt-4.1",
  "chat azure-chat gpt-5-mini",
  "chat openrouter openai/gpt-5.2",
  "responses openai gpt-5.2",
  "responses azure gpt-5.2",
  "responses codex gpt-5.5",
] as const;

const A: JsonObject = {
  type: "object",
  properties: { kind: { const: "a" }, x: { type: "string" } },
  required: ["kind", "x"],
};
const B: JsonObject = {
  type: "object",
  properties: { kind: { const: "b" }, y: { type: "number" } },
  required: ["kind"],
};
const EITHER = {
  kind: { anyOf: [{ const: "a" }, { const: "b" }] },
  x: { type: "string" },
  y: { type: "number" },
};

/** The kind of schema, the schema, and the properties that are sent. */
const REFUSED: readonly (readonly [string, JsonObject, JsonObject])[] = [
  // https://github.com/langchain-ai/langchainjs/issues/9804
  ["anyOf at the root", { anyOf: [A, B] }, EITHER],
  // https://github.com/cecli-dev/cecli/issues/281
  ["oneOf at the root", { type: "object", oneOf: [A, B] }, EITHER],
  ["references in a choice at the root", {
    $defs: { A, B },
    oneOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }],
  }, EITHER],
  ["a reference to a choice at the root", {
    $defs: { A, B, AB: { anyOf: [{ $ref: "#/$defs/A" }, B] } },
    $ref: "#/$defs/AB",
  }, EITHER],
  ["a choice in a choice at the root", {
    anyOf: [{ oneOf: [A] }, { allOf: [B] }],
  }, EITHER],
  ["a choice that contains itself", {
    anyOf: [A, { $ref: "#" }],
  }, { kind: { const: "a" }, x: { type: "string" } }],
  ["allOf that refines a property", {
    properties: { x: { type: "string", description: "X" } },
    allOf: [{ properties: { x: { minLength: 1 } } }],
  }, { x: { type: "string", description: "X", minLength: 1 } }],
  // https://github.com/nspady/google-calendar-mcp/issues/39
  ["anyOf that only requires", {
    properties: { a: {}, b: {} },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
  }, { a: {}, b: {} }],
  ["not at the root", {
    properties: { a: {} },
    not: { required: ["a", "b"] },
  }, { a: {} }],
  ["enum at the root", { type: "object", enum: [{}] }, {}],
  // https://github.com/chatanywhere/GPT_API_free/issues/403
  ["another type at the root", { type: ["object", "null"] }, {}],
  // https://github.com/docker/mcp-gateway/pull/265
  ["a list without items", {
    properties: { a: { anyOf: [{ type: "array" }, { type: "null" }] } },
  }, { a: { anyOf: [{ type: "array", items: {} }, { type: "null" }] } }],
  ["a list or null without items", {
    properties: { a: { type: ["array", "null"] } },
  }, { a: { type: ["array", "null"], items: {} } }],
  ["a tuple", {
    properties: { a: { type: "array", items: [{ type: "number" }] } },
  }, { a: { type: "array", prefixItems: [{ type: "number" }], items: {} } }],
];

for (const [what, schema, properties] of REFUSED) {
  Deno.test(`OpenAI's models get no tool with ${what}, on any connection`, () => {
    assert.notEqual(
      openAiSchemaFault(schema),
      undefined,
      "OpenAI accepts the schema of this case",
    );
    for (const target of OPENAI) {
      const made = sent(schema, target);
      assert.equal(openAiSchemaFault(made.schema), undefined, target);
      assert.deepEqual(made.schema.properties, properties, target);
    }
  });
}

Deno.test("nested choices at the root do not multiply the size of a schema", () => {
  // 10 alternatives on each of 8 levels would be 100 million.
  const names = [..."abcdefghij"];
  const choiceAt = (level: number): JsonObject => ({
    anyOf: names.map((name) => ({ $ref: `#/$defs/${name}${level}` })),
  });
  const $defs: JsonObject = {};
  for (let level = 0; level < 8; level++) {
    for (const name of names) {
      $defs[`${name}${level}`] = {
        properties: { x: { title: `${name}${level}` } },
        ...(level === 0 ? {} : choiceAt(level - 1)),
      };
    }
  }
  const { schema } = sent({ $defs, ...choiceAt(7) }, "chat openai gpt-4.1");
  assert.ok(JSON.stringify(schema.properties).length < 1_000_000);
});

Deno.test("keywords that OpenAI rejects at the root move into the description", () => {
  const { schema } = sent(
    { description: "D", not: { required: ["a"] } },
    "chat openai gpt-5.2",
  );
  assert.equal(
    schema.description,
    'D\n\nMust match {"not":{"required":["a"]}}',
  );
});

Deno.test("a strict tool loses `strict`, which is named, when its changed schema is not strict", () => {
  for (const target of [OPENAI[0], OPENAI[3]]) {
    for (
      const schema of [
        { anyOf: [{ ...A, additionalProperties: false }] },
        {
          type: "object",
          properties: { a: { type: "array" } },
          required: ["a"],
          additionalProperties: false,
        },
      ]
    ) {
      const made = sent(schema, target, true);
      assert.notEqual(made.strict, true, target);
      assert.deepEqual(made.dropped, ["tools[].strict"], target);
    }
  }
});

Deno.test("OpenAI gets a schema that it accepts unchanged, and providers without limits any schema", () => {
  const schema: JsonObject = {
    type: "object",
    properties: { items: { type: "array", items: { anyOf: [A, B] } } },
  };
  for (const target of OPENAI) {
    assert.deepEqual(sent(schema, target).schema, schema);
  }
  const choice = { type: "object", anyOf: [A, B] };
  assert.deepEqual(sent(choice, "chat openrouter z-ai/glm-5").schema, choice);
});

// "input_schema does not support oneOf, allOf, or anyOf at the top level": https://github.com/marianfoo/mcp-sap-docs/pull/51
for (
  const target of [
    "messages anthropic claude-opus-5",
    "chat openrouter anthropic/claude-opus-5",
    "chat litellm claude-sonnet-4-6",
  ]
) {
  Deno.test(`Claude at ${target} gets a choice at the root as one object, with the properties of all references`, () => {
    const { schema } = sent(
      { $defs: { A, B }, oneOf: [{ $ref: "#/$defs/A" }, B] },
      target,
    );
    assert.deepEqual(schema.properties, EITHER);
    assert.deepEqual([schema.type, schema.required], ["object", ["kind"]]);
    const { schema: named } = sent(
      { properties: { "filter[id]": {} } },
      target,
    );
    assert.equal(claudeSchemaFault(named), undefined);
  });
}

Deno.test("another gateway gets schemas for Claude unchanged", () => {
  const schema = { type: "object", anyOf: [A, { properties: { $top: {} } }] };
  const made = sent(schema, "chat gateway claude-opus-5");
  assert.deepEqual(made.schema, schema);
});
