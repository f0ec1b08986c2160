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

/** How a widely used client fits histories to Mistral's models. */
const OPENCODE_FITS =
  "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/provider/transform.ts";

/** Which spelling of a cache mark a provider knows. */
export type CacheSpelling = "cache_control" | "prompt_cache_breakpoint";

/** How a provider's Chat Completions deviates from OpenAI's. */
export interface ChatRules {
  /** The field that limits the answer. */
  readonly limitField: "max_completion_tokens" | "max_tokens";
  /** Whether system and developer messages may stand anywhere, as roles of their own. */
  readonly systemAnywhere: boolean;
  /** Whether text may come in parts; else it is one string. */
  readonly textParts: boolean;
  /** Whether custom tools, `allowed_tools` and `refusal` exist. */
  readonly fullToolset: boolean;
  /** Whether `response_format` takes a schema; else it is told in words. */
  readonly schemas: boolean;
  /** Whether `response_format` may stand beside tools; else it is told in words there. */
  readonly formatsWithTools: boolean;
  /** Whether schemas must be Moonshot's own subset of JSON Schema. */
  readonly moonshotSchemas: boolean;
  /** Whether patterns of schemas are compiled, by an engine that knows less than JavaScript's, whatever the model. */
  readonly compilesPatterns: boolean;
  /** How reasoning is asked for: by an effort, by a switch as the model's row says, or by a router's `reasoning`. */
  readonly reasoning: "effort" | "switch" | "router";
  /** The models of a provider with a switch. */
  readonly models: readonly ModelRow<ThinkingRules>[];
  /** The models of a provider with an effort, by the words that each takes. */
  readonly effortModels: readonly ModelRow<EffortRules>[];
  /** The highest effort that the provider knows, of models that no row is for. */
  readonly maxEffort: "high" | "max";
  /** The field of an assistant message that gives earlier reasoning back; `undefined` where none is wanted. */
  readonly reasoningField: "reasoning_content" | "reasoning" | undefined;
  /** Whether the field must stand on every assistant message as soon as it stands on one. */
  readonly reasoningOnAll: boolean;
  /** Whether a request without a message of the user is refused. */
  readonly demandsUser: boolean;
  /** Whether a message of the user may follow the result of a tool. */
  readonly userAfterTool: boolean;
  /** The field of an assistant message at the end that asks to go on with it; `undefined` where none is needed. */
  readonly continueField: "partial" | "prefix" | undefined;
  /** Whether ids of tool calls are nine letters and digits. */
  readonly shortCallIds: boolean;
  /** Whether `stream_options` and `user` are refused. */
  readonly refusesUnknown: boolean;
  readonly seedField: "seed" | "random_seed";
  /** Whether OpenAI's own settings exist: service tiers, metadata, verbosity, cache keys, user ids. */
  readonly openaiSettings: boolean;
  readonly topK: boolean;
  readonly cache: CacheSpelling | undefined;
  /** Most stop strings; `undefined` for no known bound. */
  readonly maxStops: number | undefined;
  /** Whether the provider itself fits effort and sampling to the model. */
  readonly fitsModel: boolean;
}

/** What a model's own template refuses, whoever serves it. */
export type TemplateRules = Pick<ChatRules, "userAfterTool" | "shortCallIds">;

/** The models whose template is known to refuse something. */
export const TEMPLATE_MODELS: readonly ModelRow<TemplateRules>[] = [
  {
    models:
      /(?:^|-)(?:mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/,
    examples: ["mistral-large-latest", "open-mixtral-8x22b", "devstral-2512"],
    sources: [
      // "Unexpected role 'user' after role 'tool'"
      OPENCODE_FITS,
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

/** What nearly every server that imitates the protocol understands. */
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

/** The kinds of service with rules of their own. */
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
    // Another gateway, which fits the request to its own upstream.
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
      // '"tools" is incompatible with "response_format"', and `reasoning_content` is refused.
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
      OPENCODE_FITS,
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
