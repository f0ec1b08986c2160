import type { RequestContext } from "../canonical/codec.ts";
import type { CacheSpelling } from "./cache.ts";

/** How a provider's Chat Completions deviates from OpenAI's. */
export interface ChatDialect {
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
  /** How reasoning is asked for. */
  readonly reasoning: "effort" | "thinking" | "router";
  /** The highest effort that the provider knows. */
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
}

const OPENAI: ChatDialect = {
  limitField: "max_completion_tokens",
  systemAnywhere: true,
  textParts: true,
  fullToolset: true,
  schemas: true,
  reasoning: "effort",
  maxEffort: "max",
  reasoningField: undefined,
  reasoningOnAll: false,
  openaiSettings: true,
  topK: false,
  cache: "prompt_cache_breakpoint",
  maxStops: 4,
};

/** What nearly every server that imitates the protocol understands. */
const COMPATIBLE: ChatDialect = {
  limitField: "max_tokens",
  systemAnywhere: false,
  textParts: false,
  fullToolset: false,
  schemas: true,
  reasoning: "effort",
  maxEffort: "high",
  reasoningField: "reasoning_content",
  reasoningOnAll: false,
  openaiSettings: false,
  topK: false,
  cache: undefined,
  maxStops: undefined,
};

/** Models with a thinking switch that want their thoughts back while a tool loop runs. */
const THINKING: ChatDialect = {
  ...COMPATIBLE,
  reasoning: "thinking",
  reasoningOnAll: true,
};

const DIALECTS: Readonly<Record<string, ChatDialect>> = {
  openai: OPENAI,
  gateway: {
    ...OPENAI,
    reasoningField: "reasoning_content",
    cache: "cache_control",
    topK: true,
  },
  openrouter: {
    ...COMPATIBLE,
    textParts: true,
    reasoning: "router",
    reasoningField: "reasoning",
    topK: true,
    cache: "cache_control",
  },
  zai: { ...THINKING, schemas: false, reasoningOnAll: false },
  bigmodel: { ...THINKING, schemas: false, reasoningOnAll: false },
  kimi: THINKING,
  moonshot: THINKING,
  deepseek: { ...THINKING, schemas: false },
};

/** The dialect of a kind of service; the widely understood one where none is known. */
export function dialectOf(service: string): ChatDialect {
  return DIALECTS[service] ?? COMPATIBLE;
}

/** What every step of writing a request needs to know. */
export interface Scope {
  readonly dialect: ChatDialect;
  readonly context: RequestContext;
}
