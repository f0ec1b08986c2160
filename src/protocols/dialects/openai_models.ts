import { type EffortWord, type ModelRow, rulesFor } from "./effort.ts";

/** What a generation of OpenAI's models takes, through either of its protocols. */
export interface OpenAiModelRules {
  /**
   * The efforts that it takes, from little to much; `none` is among them where it can be told not to reason. Empty
   * where it never reasons, `undefined` where nobody knows yet.
   */
  readonly efforts: readonly EffortWord[] | undefined;
  /**
   * How much it reasons where a request does not say. Sampling and log probabilities are taken only of a model that
   * does not reason.
   */
  readonly defaultEffort: EffortWord;
  /** Whether prompts take cache marks and `prompt_cache_options`. */
  readonly cacheMarks: boolean;
  /** Whether `prompt_cache_retention` is taken, which cache marks replace. */
  readonly cacheRetention: boolean;
  /** Whether Chat Completions refuse function tools while the model reasons; absent: no. */
  readonly refusesChatTools?: boolean | undefined;
}

/** "When reasoning effort is not none, remove temperature, top_p, and top_logprobs", and who probed which model. */
const SAMPLING_SOURCE =
  "https://developers.openai.com/api/docs/guides/deployment-checklist";
const PROBED_SOURCE = "https://github.com/pydantic/pydantic-ai/pull/6414";
const EFFORTS_SOURCE = "https://github.com/enricoros/big-AGI/issues/944";

/** "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions", and who met it. */
const CHAT_TOOLS_SOURCE = "https://github.com/ItzCrazyKns/Vane/issues/1173";

/**
 * OpenAI compiles the patterns of schemas, all with Python's `re` ("is not a 'regex'") and some with an engine that
 * does not look around ("regex lookaround is not supported"), through both protocols.
 */
export const PATTERN_SOURCES: readonly string[] = [
  "https://github.com/BerriAI/litellm/pull/40485",
  "https://github.com/pleaseai/shunt/pull/488",
  "https://github.com/vercel/ai/pull/21037",
  "https://github.com/nicobailon/pi-interactive-shell/issues/69",
];

const OLD_CACHE = { cacheMarks: false, cacheRetention: true } as const;
const MARKED_CACHE = { cacheMarks: true, cacheRetention: true } as const;
const NEW_CACHE = { cacheMarks: true, cacheRetention: false } as const;

/** OpenAI's models; a snapshot has its date behind its name. */
export const OPENAI_MODELS: readonly ModelRow<OpenAiModelRules>[] = [
  {
    models: /^(?:gpt-[34](?!\d)|chatgpt-|gpt-5-chat|davinci|babbage)/,
    examples: ["gpt-4.1", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-5-chat"],
    sources: [PROBED_SOURCE],
    rules: { efforts: [], defaultEffort: "none", ...OLD_CACHE },
  },
  {
    models: /^(?:gpt-5\.\d-chat|chat-latest)/,
    examples: ["gpt-5.2-chat-latest", "chat-latest"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/anomalyco/models.dev/pull/2351",
    ],
    rules: { efforts: ["medium"], defaultEffort: "medium", ...OLD_CACHE },
  },
  {
    models: /^(?:o[134](?!\d)|codex-mini|gpt-5-codex)/,
    examples: ["o3", "o4-mini", "codex-mini-latest", "gpt-5-codex"],
    sources: [EFFORTS_SOURCE],
    rules: {
      efforts: ["low", "medium", "high"],
      defaultEffort: "medium",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5-pro/,
    examples: ["gpt-5-pro", "gpt-5-pro-2025-10-06"],
    sources: ["https://developers.openai.com/api/docs/models/gpt-5-pro"],
    rules: { efforts: ["high"], defaultEffort: "high", ...OLD_CACHE },
  },
  {
    models: /^gpt-5(?:-|$)/,
    examples: ["gpt-5", "gpt-5-mini", "gpt-5-nano-2025-08-07"],
    sources: ["https://developers.openai.com/api/docs/models/gpt-5"],
    rules: {
      efforts: ["minimal", "low", "medium", "high"],
      defaultEffort: "medium",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.1-codex-max/,
    examples: ["gpt-5.1-codex-max"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/vercel/ai/pull/11056",
    ],
    rules: {
      efforts: ["low", "medium", "high", "xhigh"],
      defaultEffort: "medium",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.1-codex/,
    examples: ["gpt-5.1-codex", "gpt-5.1-codex-mini"],
    sources: [PROBED_SOURCE, EFFORTS_SOURCE],
    rules: {
      efforts: ["low", "medium", "high"],
      defaultEffort: "medium",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.[2-5]-codex/,
    examples: ["gpt-5.2-codex", "gpt-5.3-codex", "gpt-5.3-codex-spark"],
    sources: [
      "https://github.com/OpenHands/software-agent-sdk/issues/1837",
      "https://github.com/anomalyco/models.dev/pull/2296",
    ],
    rules: {
      efforts: ["low", "medium", "high", "xhigh"],
      defaultEffort: "medium",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.[2-5]-pro/,
    examples: ["gpt-5.2-pro", "gpt-5.5-pro-2026-04-23"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/anomalyco/models.dev/pull/2296",
    ],
    rules: {
      efforts: ["medium", "high", "xhigh"],
      defaultEffort: "medium",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.1(?:-mini|-nano)?(?:-\d{4}-\d\d-\d\d)?$/,
    examples: ["gpt-5.1", "gpt-5.1-2025-11-13"],
    sources: [
      PROBED_SOURCE,
      "https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort",
    ],
    rules: {
      efforts: ["none", "low", "medium", "high"],
      defaultEffort: "none",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.[23](?:-mini|-nano)?(?:-\d{4}-\d\d-\d\d)?$/,
    examples: ["gpt-5.2", "gpt-5.3"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/langchain-ai/langchain/issues/35423",
    ],
    rules: {
      efforts: ["none", "low", "medium", "high", "xhigh"],
      defaultEffort: "none",
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.4(?:-mini|-nano)?(?:-\d{4}-\d\d-\d\d)?$/,
    examples: ["gpt-5.4-mini", "gpt-5.4-2026-03-05"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/langchain-ai/langchain/issues/35423",
      CHAT_TOOLS_SOURCE,
    ],
    rules: {
      efforts: ["none", "low", "medium", "high", "xhigh"],
      defaultEffort: "none",
      refusesChatTools: true,
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.5(?:-\d{4}-\d\d-\d\d)?$/,
    examples: ["gpt-5.5", "gpt-5.5-2026-04-23"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/BerriAI/litellm/pull/34210",
      "https://github.com/moltis-org/moltis/pull/1298",
    ],
    rules: {
      efforts: ["none", "low", "medium", "high", "xhigh"],
      defaultEffort: "medium",
      refusesChatTools: true,
      ...OLD_CACHE,
    },
  },
  {
    models: /^gpt-5\.6(?:-(?:sol|terra|luna))?(?:-\d{4}-\d\d-\d\d)?$/,
    examples: ["gpt-5.6", "gpt-5.6-sol"],
    sources: [
      PROBED_SOURCE,
      "https://github.com/enricoros/big-AGI/issues/1159",
      "https://github.com/moltis-org/moltis/pull/1298",
    ],
    rules: {
      efforts: ["none", "low", "medium", "high", "xhigh", "max"],
      defaultEffort: "medium",
      refusesChatTools: true,
      ...MARKED_CACHE,
    },
  },
  {
    models: /^gpt-6(?:-(?:sol|luna)|\.1-terra)/,
    examples: ["gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra"],
    sources: [
      SAMPLING_SOURCE,
      "https://microsoft.github.io/openaivec/model-migration/",
      "https://github.com/goruck/home-generative-agent/releases/tag/v3.46.0-beta.1",
    ],
    rules: {
      efforts: ["none", "low", "medium", "high", "xhigh", "max"],
      defaultEffort: "medium",
      refusesChatTools: true,
      ...NEW_CACHE,
    },
  },
  {
    models: /^gpt-6(?:-astra|\.1-sol)/,
    examples: ["gpt-6-astra", "gpt-6.1-sol"],
    sources: [
      SAMPLING_SOURCE,
      "https://github.com/goruck/home-generative-agent/releases/tag/v3.46.0-beta.1",
    ],
    rules: {
      efforts: ["low", "medium", "high", "xhigh", "max"],
      defaultEffort: "medium",
      ...NEW_CACHE,
    },
  },
  {
    models: /^gpt-6\.2-/,
    examples: ["gpt-6.2-sol", "gpt-6.2-astra"],
    sources: [
      "https://dev.to/routerbase_com/4-request-validation-gotchas-when-migrating-openai-clients-to-gpt-62-reasoning-models-1aoc",
    ],
    rules: {
      efforts: ["low", "medium", "high", "xhigh"],
      defaultEffort: "medium",
      ...NEW_CACHE,
    },
  },
  {
    // Newer than known here: it reasons unless it is told not to.
    models: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/,
    examples: ["gpt-5.6-sol-pro", "gpt-5.7", "gpt-7-codex", "gpt-12"],
    sources: [SAMPLING_SOURCE],
    rules: { efforts: undefined, defaultEffort: "medium", ...NEW_CACHE },
  },
  {
    // Variants of known generations and other families that reason.
    models: /^(?:gpt-5|o\d|codex|computer-use)/,
    examples: ["gpt-5.4-cyber", "o5", "codex-next", "computer-use-preview"],
    sources: [SAMPLING_SOURCE],
    rules: { efforts: undefined, defaultEffort: "medium", ...OLD_CACHE },
  },
];

/** A model that no row knows where all models are OpenAI's: it reasons, as every new one does. */
export const UNKNOWN_OPENAI_MODEL: OpenAiModelRules = {
  efforts: undefined,
  defaultEffort: "medium",
  cacheMarks: false,
  cacheRetention: true,
};

/** What a model takes that its id shows to be OpenAI's; `undefined` for every other. */
export function openAiModelRules(model: string): OpenAiModelRules | undefined {
  return rulesFor(OPENAI_MODELS, model);
}
