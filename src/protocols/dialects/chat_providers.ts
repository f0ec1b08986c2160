import type { ModelRow } from "./model_row.ts";
import {
  DEEPSEEK_MODELS,
  GLM_MODELS,
  KIMI_MODELS,
  MINIMAX_MODELS,
  type ThinkingRules,
} from "./thinking_models.ts";

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
  /** How reasoning is asked for: by an effort, by a switch as the model's row says, or by a router's `reasoning`. */
  readonly reasoning: "effort" | "switch" | "router";
  /** The models of a provider with a switch. */
  readonly models: readonly ModelRow<ThinkingRules>[];
  /** The highest effort that the provider knows, of models that no row is for. */
  readonly maxEffort: "high" | "max";
  /** The field of an assistant message that gives earlier reasoning back; `undefined` where none is wanted. */
  readonly reasoningField: "reasoning_content" | "reasoning" | undefined;
  /** Whether the field must stand on every assistant message as soon as it stands on one. */
  readonly reasoningOnAll: boolean;
  /** Whether OpenAI's own settings exist: service tiers, metadata, verbosity, cache keys, user ids. */
  readonly openaiSettings: boolean;
  readonly topK: boolean;
  readonly cache: CacheSpelling | undefined;
  /** Most stop strings; `undefined` for no known bound. */
  readonly maxStops: number | undefined;
  /** Whether the provider itself fits effort and sampling to the model. */
  readonly fitsModel: boolean;
}

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
  reasoning: "effort",
  models: [],
  maxEffort: "max",
  reasoningField: undefined,
  reasoningOnAll: false,
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
  reasoning: "effort",
  models: [],
  maxEffort: "high",
  reasoningField: "reasoning_content",
  reasoningOnAll: false,
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
    sources: ["https://developers.openai.com/api/reference/resources/chat"],
    rules: OPENAI,
  },
  {
    // Another gateway, which fits the request to its own upstream.
    services: ["gateway"],
    sources: ["https://developers.openai.com/api/reference/resources/chat"],
    rules: {
      ...OPENAI,
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
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      schemas: false,
      reasoning: "switch",
      models: GLM_MODELS,
    },
  },
  {
    services: ["kimi", "moonshot"],
    sources: ["https://platform.kimi.ai/docs/api/chat"],
    rules: {
      ...COMPATIBLE_CHAT,
      reasoning: "switch",
      models: KIMI_MODELS,
      reasoningOnAll: true,
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
];
