import assert from "node:assert/strict";
import { SERVICE_NAMES, SERVICES } from "../../../src/config/services.ts";
import {
  CLAUDE_MODELS,
  claudeRowFor,
  MESSAGES_PROVIDERS,
  parseClaudeModel,
} from "../../../src/protocols/dialects/claude_models.ts";
import {
  type ModelRow,
  rulesFor,
} from "../../../src/protocols/dialects/effort.ts";
import {
  CEREBRAS_MODELS,
  COHERE_MODELS,
  DOUBAO_MODELS,
  GEMINI_MODELS,
  GROQ_MODELS,
  MISTRAL_MODELS,
  NVIDIA_MODELS,
  XAI_MODELS,
} from "../../../src/protocols/dialects/effort_models.ts";
import { ENDPOINT_MODELS } from "../../../src/protocols/dialects/endpoint_models.ts";
import { OPENAI_MODELS } from "../../../src/protocols/dialects/openai_models.ts";
import { CHAT_PROVIDERS } from "../../../src/protocols/dialects/chat_providers.ts";
import { TEMPLATE_MODELS } from "../../../src/protocols/dialects/chat_rules.ts";
import {
  DEEPSEEK_MODELS,
  GLM_MODELS,
  KIMI_MODELS,
  MINIMAX_MODELS,
  QWEN_MODELS,
} from "../../../src/protocols/dialects/thinking_models.ts";
import { RESPONSES_PROVIDERS } from "../../../src/protocols/dialects/responses_providers.ts";

// Every row of the dialect tables must apply to the models that it names, and give the source of
// its rules.

const MODEL_TABLES: Readonly<Record<string, readonly ModelRow<unknown>[]>> = {
  OPENAI_MODELS,
  ENDPOINT_MODELS,
  KIMI_MODELS,
  DEEPSEEK_MODELS,
  GLM_MODELS,
  MINIMAX_MODELS,
  QWEN_MODELS,
  GROQ_MODELS,
  CEREBRAS_MODELS,
  MISTRAL_MODELS,
  GEMINI_MODELS,
  XAI_MODELS,
  COHERE_MODELS,
  DOUBAO_MODELS,
  NVIDIA_MODELS,
  TEMPLATE_MODELS,
  ...Object.fromEntries(
    CHAT_PROVIDERS.filter(({ models }) => models !== undefined)
      .map(({ services, models = [] }) => [services.join(), models]),
  ),
};

for (const [name, rows] of Object.entries(MODEL_TABLES)) {
  Deno.test(`each row of ${name} answers for its own examples`, () => {
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

Deno.test("each row of CLAUDE_MODELS answers for its own examples and names its sources", () => {
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
  const tables = [
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
    ["anthropic", "aws-claude", "azure-claude", "bedrock-claude"]
      .map((service) => [
        `${service} messages`,
        "every model is a Claude: CLAUDE_MODELS has their rows, at any provider",
      ]),
  ),
  ...Object.fromEntries(
    [
      "zai",
      "bigmodel",
      "openrouter",
      "kimi",
      "moonshot",
      "minimax",
      "deepseek",
      "synthetic",
      "dashscope",
      "fireworks",
      "ollama",
      "vllm",
      "sglang",
      "llamacpp",
      "lmstudio",
      "litellm",
    ].map((service) => [
      `${service} messages`,
      "translations write what every imitation of Messages takes, or the rules of a Claude",
    ]),
  ),
};

Deno.test("each endpoint of a preset has a row in the tables of its protocol, or a reason to need none", () => {
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

Deno.test("each service without endpoints of its own has a row, but for the one that may be any server", () => {
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
