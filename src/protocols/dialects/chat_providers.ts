import {
  CEREBRAS_MODELS,
  type EffortRules,
  GROQ_MODELS,
  MISTRAL_MODELS,
  type ModelRow,
} from "./effort.ts";
import { PATTERN_SOURCES } from "./openai_models.ts";
import {
  DEEPSEEK_MODELS,
  GLM_MODELS,
  KIMI_MODELS,
  MINIMAX_MODELS,
  type ThinkingRules,
} from "./thinking_models.ts";

/** The code with which a widely used client adapts histories to Mistral's models. */
const OPENCODE_SOURCE =
  "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/provider/transform.ts";

/** A provider's field for cache marks. */
export type CacheSpelling = "cache_control" | "prompt_cache_breakpoint";

/** A provider's dialect of Chat Completions, compared with OpenAI's. */
export interface ChatRules {
  /** The field for the output limit. */
  readonly limitField: "max_completion_tokens" | "max_tokens";
  /** True when system and developer messages keep their roles at any position. */
  readonly systemAnywhere: boolean;
  /** True when text may have parts; if false, it must be one string. */
  readonly textParts: boolean;
  /** True when custom tools, `allowed_tools` and `refusal` exist. */
  readonly fullToolset: boolean;
  /** True when `response_format` accepts a schema; if false, an instruction in the prompt replaces it. */
  readonly schemas: boolean;
  /** True when `response_format` is allowed with tools; if false, an instruction in the prompt replaces it. */
  readonly formatsWithTools: boolean;
  /** True when schemas must be Moonshot's own subset of JSON Schema. */
  readonly moonshotSchemas: boolean;
  /** True when the provider compiles patterns of schemas for all models, with a simpler engine than JavaScript's. */
  readonly compilesPatterns: boolean;
  /** The setting for reasoning: an effort, a switch (see the model's row), or a router's `reasoning`. */
  readonly reasoning: "effort" | "switch" | "router";
  /** The models of a provider with a switch. */
  readonly models: readonly ModelRow<ThinkingRules>[];
  /** The models of a provider with an effort, and the efforts of each. */
  readonly effortModels: readonly ModelRow<EffortRules>[];
  /** The highest effort of models without a row. */
  readonly maxEffort: "high" | "max";
  /** The field of an assistant message for earlier reasoning; `undefined` when the provider accepts none. */
  readonly reasoningField: "reasoning_content" | "reasoning" | undefined;
  /** True when all assistant messages need the field as soon as one has it. */
  readonly reasoningOnAll: boolean;
  /** True when the provider rejects a request without a user message. */
  readonly demandsUser: boolean;
  /** True when a user message may follow the result of a tool. */
  readonly userAfterTool: boolean;
  /** The field that makes the model continue the last assistant message; `undefined` when none is needed. */
  readonly continueField: "partial" | "prefix" | undefined;
  /** True when ids of tool calls must be nine letters and digits. */
  readonly shortCallIds: boolean;
  /** True when the provider rejects `stream_options` and `user`. */
  readonly refusesUnknown: boolean;
  readonly seedField: "seed" | "random_seed";
  /** True when OpenAI's own settings exist: service tiers, metadata, verbosity, cache keys, user ids. */
  readonly openaiSettings: boolean;
  readonly topK: boolean;
  readonly cache: CacheSpelling | undefined;
  /** The most stop strings; `undefined` when no limit is known. */
  readonly maxStops: number | undefined;
  /** True when the provider itself adjusts effort and sampling to the model. */
  readonly fitsModel: boolean;
}

/** The restrictions of a model's chat template, which apply at every provider. */
export type TemplateRules = Pick<ChatRules, "userAfterTool" | "shortCallIds">;

/** The models with restrictions in their chat template. */
export const TEMPLATE_MODELS: readonly ModelRow<TemplateRules>[] = [
  {
    models:
      /(?:^|-)(?:mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/,
    examples: ["mistral-large-latest", "open-mixtral-8x22b", "devstral-2512"],
    sources: [
      // "Unexpected role 'user' after role 'tool'"
      OPENCODE_SOURCE,
      // "must be a-z, A-Z, 0-9, with a length of 9"
      "https://github.com/jundot/omlx/issues/1997",
    ],
    rules: { userAfterTool: false, shortCallIds: true },
  },
];

/** One row of the table. */
export interface ChatProvider {
  readonly services: readonly string[];
  readonly sources: readonly string[];
  readonly rules: ChatRules;
}

const OPENAI: ChatRules = {
  limitField: "max_completion_tokens",
  systemAnywhere: true,
  textParts: true,
  fullToolset: true,
  schemas: true,
  formatsWithTools: true,
  moonshotSchemas: false,
  compilesPatterns: true,
  reasoning: "effort",
  models: [],
  effortModels: [],
  maxEffort: "max",
  reasoningField: undefined,
  reasoningOnAll: false,
  demandsUser: false,
  userAfterTool: true,
  continueField: undefined,
  shortCallIds: false,
  refusesUnknown: false,
  seedField: "seed",
  openaiSettings: true,
  topK: false,
  cache: "prompt_cache_breakpoint",
  maxStops: 4,
  fitsModel: false,
};

/** The rules that nearly all compatible servers share. */
export const COMPATIBLE_CHAT: ChatRules = {
  limitField: "max_tokens",
  systemAnywhere: false,
  textParts: false,
  fullToolset: false,
  schemas: true,
  formatsWithTools: true,
  moonshotSchemas: false,
  compilesPatterns: false,
  reasoning: "effort",
  models: [],
  effortModels: [],
  maxEffort: "high",
  reasoningField: "reasoning_content",
  reasoningOnAll: false,
  demandsUser: false,
  userAfterTool: true,
  continueField: undefined,
  shortCallIds: false,
  refusesUnknown: false,
  seedField: "seed",
  openaiSettings: false,
  topK: false,
  cache: undefined,
  maxStops: undefined,
  fitsModel: false,
};

/** The kinds of service with their own rules. */
export const CHAT_PROVIDERS: readonly ChatProvider[] = [
  {
    services: ["openai"],
    sources: [
      "https://developers.openai.com/api/reference/resources/chat",
      ...PATTERN_SOURCES,
    ],
    rules: OPENAI,
  },
  {
    // Another gateway adjusts the request to its own upstream.
    services: ["gateway"],
    sources: ["https://developers.openai.com/api/reference/resources/chat"],
    rules: {
      ...OPENAI,
      compilesPatterns: false,
      reasoningField: "reasoning_content",
      cache: "cache_control",
      topK: true,
      fitsModel: true,
    },
  },
  {
    services: ["openrouter"],
    sources: [
      "https://openrouter.ai/docs/api-reference/parameters",
      "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      textParts: true,
      reasoning: "router",
      reasoningField: "reasoning",
      topK: true,
      cache: "cache_control",
      fitsModel: true,
    },
  },
  {
    services: ["zai", "bigmodel"],
    sources: [
      "https://docs.z.ai/api-reference/llm/chat-completion",
      "https://docs.z.ai/guides/capabilities/struct-output",
      // "this error occur when sending a completion request with zero `user` role messages in it"
      "https://github.com/anomalyco/opencode/issues/2557",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      schemas: false,
      reasoning: "switch",
      models: GLM_MODELS,
      demandsUser: true,
    },
  },
  {
    services: ["kimi", "moonshot"],
    sources: [
      "https://platform.kimi.ai/docs/api/chat",
      "https://platform.kimi.ai/docs/api/partial",
      // "when using anyOf, type should be defined in anyOf items instead of the parent schema"
      "https://github.com/MoonshotAI/kimi-cli/issues/1595",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      moonshotSchemas: true,
      reasoning: "switch",
      models: KIMI_MODELS,
      reasoningOnAll: true,
      continueField: "partial",
    },
  },
  {
    services: ["deepseek"],
    sources: [
      "https://api-docs.deepseek.com/api/create-chat-completion",
      "https://api-docs.deepseek.com/guides/json_mode",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      schemas: false,
      reasoning: "switch",
      models: DEEPSEEK_MODELS,
      reasoningOnAll: true,
    },
  },
  {
    services: ["minimax"],
    sources: ["https://platform.minimax.io/docs/api-reference/text-openai-api"],
    rules: {
      ...COMPATIBLE_CHAT,
      reasoning: "switch",
      models: MINIMAX_MODELS,
    },
  },
  {
    services: ["groq"],
    sources: [
      "https://console.groq.com/docs/reasoning",
      // "json mode cannot be combined with tool/function calling"
      "https://github.com/vercel/ai/issues/10023",
      // "property 'reasoning_content' is unsupported"
      "https://console.groq.com/docs/api-reference",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      formatsWithTools: false,
      effortModels: GROQ_MODELS,
      reasoningField: "reasoning",
    },
  },
  {
    services: ["cerebras"],
    sources: [
      "https://inference-docs.cerebras.ai/capabilities/reasoning",
      // '"tools" is incompatible with "response_format"', and `reasoning_content` is rejected.
      "https://github.com/anomalyco/opencode/pull/26763",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      limitField: "max_completion_tokens",
      formatsWithTools: false,
      effortModels: CEREBRAS_MODELS,
      reasoningField: undefined,
    },
  },
  {
    services: ["mistral"],
    sources: [
      "https://docs.mistral.ai/api",
      // "extra_forbidden" for `reasoning_content`
      "https://github.com/BerriAI/litellm/issues/30835",
      OPENCODE_SOURCE,
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      effortModels: MISTRAL_MODELS,
      reasoningField: undefined,
      userAfterTool: false,
      shortCallIds: true,
      continueField: "prefix",
      refusesUnknown: true,
      seedField: "random_seed",
    },
  },
  {
    services: ["siliconflow"],
    sources: [
      "https://docs.siliconflow.com/en/api-reference/chat-completions/chat-completions",
    ],
    rules: COMPATIBLE_CHAT,
  },
  {
    services: ["synthetic"],
    sources: ["https://dev.synthetic.new/docs/api/overview"],
    rules: COMPATIBLE_CHAT,
  },
];
