import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { parseClaudeModel } from "../../../src/codecs/dialects/claude_models.ts";
import {
  bareId,
  commonEfforts,
} from "../../../src/codecs/dialects/model_rows.ts";
import { received } from "../../support/dialects/upstream_request.ts";

// Names without a row: aliases, newer versions, and the hosts' spellings of known models. They get the strictest rules
// of their maker, so that no provider refuses a field.

const SPELLINGS: Readonly<Record<string, string>> = {
  "models/gemini-3.8-flash": "gemini-3.8-flash",
  "publishers/google/models/gemini-2.5-pro@default": "gemini-2.5-pro",
  "accounts/fireworks/models/kimi-k2p5": "kimi-k2p5",
  "us.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5",
  "@cf/moonshotai/kimi-k2.5": "kimi-k2.5",
  "deepseek/deepseek-v4-pro:free": "deepseek-v4-pro",
  "gemini-3-pro-preview-0725": "gemini-3-pro",
  "gemini-2.5-flash-preview-09-2025": "gemini-2.5-flash",
  "gpt-5-2025-08-07": "gpt-5",
  "ft:gpt-5:team::1": "gpt-5",
  "openai.gpt-oss-120b": "gpt-oss-120b",
  "moonshotai.kimi-k2.5": "kimi-k2.5",
  "deepseek.v3-v1:0": "deepseek.v3",
  "k3-256k": "kimi-k3-256k",
  "z-ai/glm-5.2-maas": "glm-5.2",
  "gpt-5.6-sol": "gpt-5.6-sol",
  "gpt-4o": "gpt-4o",
};

Deno.test("bareId() removes what hosts add to a model's id", () => {
  for (const [spelling, id] of Object.entries(SPELLINGS)) {
    assert.equal(bareId(spelling), id);
    assert.equal(bareId(spelling.toUpperCase()), id);
  }
});

const FORCED = {
  tools: [{ name: "f", input_schema: { type: "object" } }],
  tool_choice: { type: "tool", name: "f" },
};

for (
  const model of ["kimi-for-coding", "kimi-latest", "moonshotai/kimi-next"]
) {
  Deno.test(`${model} gets neither a switch for thinking nor a forced tool, and both are named`, () => {
    const { body, dropped } = received("messages", `chat kimi ${model}`, {
      ...FORCED,
      thinking: { type: "disabled" },
    });
    assert.equal(body.thinking, undefined);
    assert.equal(body.reasoning_effort, undefined);
    assert.equal(body.tool_choice, "auto");
    assert.deepEqual([...dropped].sort(), ["thinking", "tool_choice"]);
  });
}

/** The effort that each unknown model gets when reasoning is switched off: its lowest, or none. */
const OFF: readonly (readonly [string, string | undefined])[] = [
  ["gemini gemini-3.8-flash", "low"],
  ["gemini models/gemini-3.8-flash", "low"],
  ["gemini gemini-4-pro", "low"],
  ["gemini gemini-flash-latest", "low"],
  ["vertex google/gemini-4-argon", "low"],
  ["xai grok-5", "low"],
  ["moonshot kimi-k4", "low"],
  ["moonshot kimi-k9.1-pro", "low"],
  ["zai glm-6", "low"],
  ["zai glm-latest", undefined],
  ["deepseek deepseek-v5", "minimal"],
  ["minimax MiniMax-M4", undefined],
  ["openai gpt-7", "low"],
  ["openai gpt-7-pro", "medium"],
  ["openai gpt-5.4-cyber", "low"],
  ["openai-chat chatgpt-6-latest", undefined],
  ["azure-chat prod-gpt-6.1-sol", "low"],
  ["azure-chat team_o3", "low"],
  ["minimax MiniMax-M3.5", undefined],
  ["deepseek deepseek-v4.5-pro", "minimal"],
  ["vertex meta/llama-4-maverick", undefined],
  ["openai-chat gpt-latest", "low"],
  ["openai-chat gpt-pro-latest", "high"],
  ["openai-chat some-model", "low"],
  ["azure-chat gpt-team", "low"],
  ["azure-chat gpt", "low"],
  ["openai-chat gpt-next-preview", "low"],
];

/**
 * The reasoning that OpenRouter gets when it is switched off. The row of the model's maker has the switch or the lowest
 * effort.
 */
const ROUTED: readonly (readonly [string, JsonObject | undefined])[] = [
  ["openai/gpt-6.1-sol", { effort: "low" }],
  ["openai/gpt-5", { effort: "minimal" }],
  ["openai/gpt-5.2", { enabled: false }],
  ["openai/gpt-oss-120b", { effort: "low" }],
  ["google/gemini-3-pro-preview", { effort: "low" }],
  ["google/gemini-2.5-flash", { enabled: false }],
  ["x-ai/grok-4.5", { effort: "low" }],
  ["moonshotai/kimi-k3", { effort: "low" }],
  ["moonshotai/kimi-k2-thinking", undefined],
  ["moonshotai/kimi-k2.5:free", { enabled: false }],
  ["z-ai/glm-5.3", { effort: "low" }],
  ["minimax/minimax-m2", undefined],
  ["meta-llama/llama-4-maverick", { enabled: false }],
];

for (const [model, reasoning] of ROUTED) {
  Deno.test(`OpenRouter gets the reasoning ${JSON.stringify(reasoning) ?? "nothing"} when a caller of ${model} switches it off`, () => {
    const { body, dropped } = received("messages", `chat openrouter ${model}`, {
      thinking: { type: "disabled" },
    });
    assert.deepEqual(body.reasoning, reasoning);
    const isOff = reasoning?.enabled === false;
    assert.deepEqual(dropped, isOff ? [] : ["thinking"]);
  });
}

Deno.test("commonEfforts() does not depend on the order of the rows", () => {
  const rows = [["medium"], ["high"], ["low", "high"], []] as const;
  for (const one of rows.keys()) {
    const turned = [...rows.slice(one), ...rows.slice(0, one)];
    assert.deepEqual(commonEfforts(turned), []);
    assert.deepEqual(
      commonEfforts(turned.filter((row) => row[0] !== "medium")),
      ["high"],
    );
  }
  assert.deepEqual(commonEfforts([[], []]), []);
});

for (const [target, least] of OFF) {
  Deno.test(`${target} gets the effort ${least ?? "nothing"} when a caller switches reasoning off`, () => {
    const { body, dropped } = received("messages", `chat ${target}`, {
      thinking: { type: "disabled" },
    });
    assert.equal(body.reasoning_effort, least);
    assert.equal(body.thinking, undefined);
    const isSilent = /chatgpt|llama/.test(target);
    assert.deepEqual(dropped, isSilent ? [] : ["thinking"]);
  });
}

Deno.test("an Azure deployment gets the rules of the OpenAI model that its name contains", () => {
  const at = (target: string) => {
    const { body } = received("messages", target, {
      temperature: 0.5,
      thinking: { type: "disabled" },
      ...FORCED,
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
    });
    const { temperature, reasoning_effort, max_completion_tokens } = body;
    const { reasoning = {} } = body;
    return [
      temperature,
      isJsonObject(reasoning)
        ? reasoning.effort ?? reasoning_effort
        : reasoning,
      max_completion_tokens === undefined ? "other" : "OpenAI",
      body.parallel_tool_calls,
    ];
  };
  for (const name of ["prod-gpt-4.1", "gpt4o", "GPT-41-mini", "gpt-35-turbo"]) {
    assert.deepEqual(at(`chat azure-chat ${name}`), [
      0.5,
      undefined,
      "OpenAI",
      false,
    ], name);
    assert.deepEqual(at(`responses azure ${name}`).slice(0, 2), [
      0.5,
      undefined,
    ], name);
  }
  assert.deepEqual(at("responses azure team-gpt-6.1-sol").slice(0, 2), [
    undefined,
    "low",
  ]);
  assert.deepEqual(at("chat azure-chat team-o3"), [
    undefined,
    "low",
    "OpenAI",
    undefined,
  ]);
  for (const name of ["my-gpt-5.5-router", "o3000", "claude-proxy/llama"]) {
    assert.deepEqual(at(`chat together ${name}`), [
      0.5,
      undefined,
      "other",
      false,
    ], name);
  }
});

Deno.test("parseClaudeModel() ignores the path of an id", () => {
  assert.equal(parseClaudeModel("claude-proxy/llama-4"), undefined);
  assert.equal(
    parseClaudeModel("arn:aws:bedrock:us-east-1:1:p/us.anthropic.claude-opus-5")
      ?.family,
    "opus",
  );
});

Deno.test("an unknown variant gets only efforts that its family and its generation share", () => {
  const effortOf = (target: string, effort: string) =>
    received("responses", `chat ${target}`, { reasoning: { effort } }).body
      .reasoning_effort;
  assert.equal(effortOf("gemini gemini-4-pro", "medium"), "high");
  assert.equal(effortOf("gemini gemini-4-flash", "medium"), "medium");
  assert.equal(effortOf("openai gpt-7-codex", "max"), "xhigh");
  assert.equal(effortOf("openai gpt-10-nano", "xhigh"), "high");
});

Deno.test("Kimi K3 gets the same efforts at other hosts as at its maker", () => {
  for (
    const target of [
      "fireworks accounts/fireworks/models/kimi-k3",
      "fireworks accounts/fireworks/models/kimi-k3p1-pro",
      "together moonshotai/Kimi-K3",
    ]
  ) {
    const { body, dropped } = received("responses", `chat ${target}`, {
      reasoning: { effort: "medium" },
    });
    assert.equal(body.reasoning_effort, "high", target);
    assert.deepEqual(dropped, ["reasoning"], target);
  }
  const { body } = received("responses", "chat fireworks kimi-k2p5", {
    reasoning: { effort: "medium" },
  });
  assert.equal(body.reasoning_effort, "medium");
});

Deno.test("DashScope is always asked for a stream, because some of its models only stream", () => {
  for (const model of ["qwq-plus", "qwen3-32b", "qwen-plus"]) {
    const { body } = received("messages", `chat dashscope ${model}`, {});
    assert.equal(body.stream, true, model);
  }
});

for (const target of ["chat openai", "responses openai"]) {
  Deno.test(`the o-series gets no parallel_tool_calls at ${target}, and only the value false is named`, () => {
    for (const model of ["o3", "o4-mini-2025-04-16", "o9"]) {
      for (const disable_parallel_tool_use of [true, false]) {
        const { body, dropped } = received("messages", `${target} ${model}`, {
          tools: [{ name: "f", input_schema: { type: "object" } }],
          tool_choice: { type: "auto", disable_parallel_tool_use },
        });
        assert.ok(Array.isArray(body.tools));
        assert.equal(body.parallel_tool_calls, undefined, model);
        assert.deepEqual(
          dropped,
          disable_parallel_tool_use
            ? ["tool_choice.disable_parallel_tool_use"]
            : [],
        );
      }
    }
    const { body } = received("messages", `${target} gpt-5`, {
      tools: [{ name: "f", input_schema: { type: "object" } }],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
    });
    assert.equal(body.parallel_tool_calls, false);
  });
}

Deno.test("Claude on Bedrock gets no enforced schema since 4.7", () => {
  const format: JsonObject = {
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "a",
        schema: { type: "object", additionalProperties: false, properties: {} },
      },
    },
  };
  const at = (target: string) =>
    received("chat", `messages ${target}`, format).body.output_config;
  assert.equal(at("bedrock-claude us.anthropic.claude-haiku-5-5"), undefined);
  assert.equal(at("bedrock-claude anthropic.claude-opus-4-7"), undefined);
  assert.notEqual(at("anthropic claude-haiku-5-5"), undefined);
});

const THOUGHT = {
  messages: [
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "" },
        { type: "tool_use", id: "a", name: "f", input: {} },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
  ],
};

Deno.test("Foundry's models get the reasoning of earlier calls only if their maker requires it", () => {
  const at = (model: string) =>
    /"reasoning_content"/.test(
      JSON.stringify(
        received("messages", `chat azure-chat ${model}`, THOUGHT).body,
      ),
    );
  assert.deepEqual(
    ["DeepSeek-V4-Pro", "FW-Kimi-K2.5", "Mistral-Large-3", "grok-4", "Llama-4"]
      .map(at),
    [true, true, false, false, false],
  );
});
