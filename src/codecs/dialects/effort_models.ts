import { type ChatRow, efforts } from "./chat_rules.ts";
import type { ModelRow } from "./model_rows.ts";

type EffortModels = readonly ModelRow<ChatRow>[];

/** Returns the last row of a host. It matches all remaining models, which accept no effort. */
const others = (
  examples: readonly string[],
  source: string,
): ModelRow<ChatRow> => (
  { models: /^/, examples, sources: [source], rules: efforts() }
);

const GROQ_PAGE = "https://console.groq.com/docs/reasoning";

export const GROQ_MODELS: EffortModels = [
  {
    models: /^gpt-oss/,
    examples: ["openai/gpt-oss-120b", "gpt-oss-safeguard-20b"],
    sources: [GROQ_PAGE],
    rules: efforts("low", "medium", "high"),
  },
  {
    // "`reasoning_effort` must be one of `none` or `default`"
    models: /^qwen3(?:-|\.[0-6])/,
    examples: ["qwen/qwen3-32b", "qwen3.6-27b"],
    sources: [GROQ_PAGE],
    rules: {
      ...efforts("none", "high"),
      spelling: { effortWords: { high: "default" } },
    },
  },
  {
    models: /^qwen/,
    examples: ["qwen/qwen3.8-27b"],
    sources: ["https://console.groq.com/docs/api-reference"],
    rules: efforts("none", "low", "medium", "high"),
  },
  others(
    ["llama-3.3-70b-versatile", "moonshotai/kimi-k2-instruct-0905"],
    GROQ_PAGE,
  ),
];

const MISTRAL_PAGE = "https://docs.mistral.ai/capabilities/reasoning/";

export const MISTRAL_MODELS: EffortModels = [
  {
    models:
      /^(?:mistral-(?:(?:small|medium)(?:$|-2[6-9]|-3)|large-4|vibe|code-agent)|devstral(?:-small|-medium)?$)/,
    examples: ["mistral-small-latest", "mistral-medium-3-5", "mistral-large-4"],
    sources: [MISTRAL_PAGE, "https://pypi.org/project/litellm/"],
    rules: efforts("none", "high"),
  },
  others(["mistral-large-latest", "magistral-medium-latest"], MISTRAL_PAGE),
];

const GEMINI_PAGE = "https://ai.google.dev/gemini-api/docs/openai#thinking";

/** Gemini's models, at the Gemini API and on Vertex. */
export const GEMINI_MODELS: EffortModels = [
  {
    // "Thinking level MEDIUM is not supported for this model."
    models: /^gemini-3(?:\.\d+)?-pro/,
    examples: ["gemini-3-pro-preview", "google/gemini-3.1-pro"],
    sources: [
      GEMINI_PAGE,
      "https://discuss.ai.google.dev/t/gemini-3-preview-openai-compatible-rejects-reasoning-effort-medium-works-with-low-and-high/112648",
    ],
    rules: efforts("low", "high"),
  },
  {
    models: /^gemini-2\.5-pro/,
    examples: ["gemini-2.5-pro"],
    sources: [GEMINI_PAGE],
    rules: efforts("low", "medium", "high"),
  },
  {
    // Only this generation is known to accept `none`.
    models: /^gemini-2\.5/,
    examples: ["gemini-2.5-flash"],
    sources: [GEMINI_PAGE],
    rules: efforts("none", "low", "medium", "high"),
  },
  {
    // "Invalid reasoning_effort: minimal."
    models: /^gemini-3/,
    examples: ["gemini-3-flash-preview", "gemini-3.8-flash"],
    sources: [
      GEMINI_PAGE,
      "https://discuss.ai.google.dev/t/title-reasoning-effort-minimal-not-working-for-gemini-3-flash-despite-documentation/117875",
    ],
    rules: efforts("low", "medium", "high"),
  },
  {
    // Other makers, on Vertex, are not known to take an effort.
    models: /^(?:gemini-[12](?!\d)|(?!gemini))/,
    examples: ["gemini-2.0-flash-001", "gemma-4-31b", "meta/llama-4"],
    sources: [GEMINI_PAGE],
    rules: efforts(),
  },
];

const XAI_PAGE =
  "https://docs.x.ai/developers/model-capabilities/text/reasoning";

/** "Model X does not support parameter reasoningEffort", by model, as tested. */
const XAI_TESTED = "https://github.com/NousResearch/hermes-agent/pull/23435";

export const XAI_MODELS: EffortModels = [
  {
    models: /^grok-3-mini/,
    examples: ["grok-3-mini", "grok-3-mini-fast"],
    sources: [XAI_PAGE, XAI_TESTED],
    rules: efforts("low", "high"),
  },
  {
    models: /^grok-4\.3(?!\d)/,
    examples: ["grok-4.3"],
    sources: [XAI_PAGE, XAI_TESTED],
    rules: efforts("none", "low", "medium", "high"),
  },
  {
    models: /^grok-4\.6(?!\d)/,
    examples: ["grok-4.6"],
    sources: ["https://github.com/mnfst/modelparams.dev/pull/330"],
    rules: efforts("low", "medium", "high", "xhigh"),
  },
  {
    models: /^grok-4\.[57](?!\d)/,
    examples: ["grok-4.5", "grok-4.7"],
    sources: ["https://github.com/mnfst/modelparams.dev/pull/330"],
    rules: efforts("low", "medium", "high"),
  },
  {
    models: /^grok-(?:[23]|4(?:\.(?:[12](?!\d)|20)|(?!\.))|code)/,
    examples: ["grok-4", "grok-4.20-0309-reasoning", "grok-code-fast-1"],
    sources: [XAI_TESTED],
    rules: efforts(),
  },
];

/** The models of Cohere: "Only none and high are currently supported." */
export const COHERE_MODELS: EffortModels = [
  {
    models: /^command-a-(?:reasoning|plus)/,
    examples: ["command-a-reasoning-08-2025"],
    sources: ["https://docs.cohere.com/docs/compatibility-api"],
    rules: efforts("none", "high"),
  },
  others(
    ["command-a-03-2025", "command-r7b-12-2024"],
    "https://docs.cohere.com/docs/compatibility-api",
  ),
];

const ARK_PAGE = "https://docs.byteplus.com/zh-TW/docs/Byteplus_LAS/Chat_API";

/** The models of Volcengine: "minimal (reasoning disabled)". */
export const DOUBAO_MODELS: EffortModels = [
  {
    models: /^doubao-seed/,
    examples: ["doubao-seed-1-8-251228", "doubao-seed-2-0-code"],
    sources: [ARK_PAGE],
    rules: {
      ...efforts("none", "minimal", "low", "medium", "high"),
      spelling: { effortWords: { none: "minimal" } },
    },
  },
  others(["deepseek-v3-2-251201", "kimi-k2-5-260127"], ARK_PAGE),
];

/** The models of Cerebras and NVIDIA. */
export const GPT_OSS_MODELS: EffortModels = [
  {
    models: /^gpt-oss/,
    examples: ["openai/gpt-oss-120b"],
    sources: ["https://github.com/anomalyco/models.dev/pull/2111"],
    rules: efforts("low", "medium", "high"),
  },
  others(
    ["zai-glm-4.7", "nvidia/llama-3.1-nemotron-70b-instruct"],
    "https://github.com/anomalyco/models.dev/pull/2111",
  ),
];
