import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { Block, CacheMark } from "../content/block.ts";
import type { Extras, ProviderMetadata, Raw } from "../content/extras.ts";
import type { Tool, ToolChoice, WebSearch } from "../tools/tool.ts";

/**
 * A request in the canonical form. If a field is absent, the caller did not set the field. Then an encoder omits the
 * field, unless its protocol requires the field.
 */
export interface CanonicalRequest {
  /** The model that the caller requested; an encoder writes the target's model instead. */
  readonly model: string;
  /** True when the caller wants a stream. */
  readonly stream: boolean;
  readonly turns: readonly Turn[];
  /** True when the answer must continue the last turn; absent: false. */
  readonly continues?: boolean | undefined;
  /** The tools in the caller's order. Upstream caches depend on this order. */
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
  /** Settings of the upstream's own web search; absent: none. */
  readonly webSearch?: WebSearch | undefined;
  /** True when the model may call several tools at once. */
  readonly parallelTools?: boolean | undefined;
  /** The form of the answer; absent means free text. */
  readonly format?: OutputFormat | undefined;
  readonly verbosity?: "low" | "medium" | "high" | undefined;
  /** The caller's limit for the tokens of the answer, including reasoning. */
  readonly maxOutputTokens?: number | undefined;
  /** Strings that end the answer; never an empty list. */
  readonly stop?: readonly string[] | undefined;
  readonly sampling: Sampling;
  readonly reasoning?: ReasoningSettings | undefined;
  readonly serviceTier?: ServiceTier | undefined;
  /** The caller's identifier of the end user. */
  readonly user?: string | undefined;
  /** The key of the prompt cache. Requests with the same key share the upstream's cache. */
  readonly cacheKey?: string | undefined;
  /** The id of the conversation, if `user` contains this id. It replaces a missing cache key. */
  readonly conversation?: string | undefined;
  /** Set when the upstream must cache the longest prefix automatically. */
  readonly cache?: CacheMark | undefined;
  /** Labels that the answer repeats or that the upstream keeps in its records. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Set when the answer must include log probabilities. */
  readonly logprobs?: Logprobs | undefined;
  /** The upstream's prompt caching, in the spelling of both OpenAI protocols. */
  readonly cacheOptions?: Raw<JsonValue> | undefined;
  /** The time that the upstream keeps the prompt in its cache, in the spelling of both OpenAI protocols. */
  readonly cacheRetention?: Raw<JsonValue> | undefined;
  /** The end user's identifier for the upstream's safety systems; equal to `user` if the caller sent no other. */
  readonly safetyIdentifier?: Raw | undefined;
  readonly extras: Extras;
}

/**
 * Consecutive blocks of one role. Decoders build turns by these rules:
 * - `system` and `developer` turns keep their position. Their blocks are text, or images when the protocol allows them.
 * - An `assistant` turn contains one whole answer: reasoning, text, refusal and calls, in the protocol's order. In a
 *   protocol of items, consecutive items are one turn.
 * - A `tool` turn contains only tool results. Consecutive results are one turn. Results at the start of a Messages user
 *   message become a `tool` turn before the `user` turn with the other blocks.
 * - A `user` turn contains all other blocks. Two consecutive turns may have the same role.
 *
 * Content that is only a string becomes one text block.
 */
export interface Turn {
  readonly role: Role;
  readonly blocks: readonly Block[];
  /** The participant's name (chat). */
  readonly name?: string | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The author of a turn. */
export type Role = "system" | "developer" | "user" | "assistant" | "tool";

export type OutputFormat =
  /** Any JSON object. */
  | { readonly type: "json" }
  | {
    readonly type: "schema";
    readonly schema: JsonObject;
    readonly name?: string | undefined;
    readonly description?: string | undefined;
    /**
     * `wanted` when the caller did not set `strict`, but the caller's protocol promises strict schemas. If the target
     * cannot enforce the schema, a request with `true` is rejected, and `wanted` is reported as dropped.
     */
    readonly strict?: boolean | "wanted" | undefined;
  };

/** The sampling settings, with the caller's own values. */
export interface Sampling {
  /** From 0 to 2; in Messages from 0 to 1. */
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly seed?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
}

/** The log probabilities that an answer must include. */
interface Logprobs {
  /** The number of alternatives for each token; absent: the upstream's default. */
  readonly top?: number | undefined;
}

/** The amount of reasoning, and the part of it that the caller sees. */
export interface ReasoningSettings {
  /**
   * `off`: no reasoning; `budget`: up to `budgetTokens`; `adaptive`: the model decides; `between_tools`: only after
   * tool results. Absent: the model's default at this effort.
   */
  readonly mode?: "off" | "budget" | "adaptive" | "between_tools" | undefined;
  /** Present only with mode `budget`. */
  readonly budgetTokens?: number | undefined;
  readonly effort?: Effort | undefined;
  /** The form in which the caller wants to read the reasoning; absent: the upstream's default. */
  readonly summary?: "none" | "auto" | "concise" | "detailed" | undefined;
}

/** The reasoning efforts, from low to high. "No reasoning" is the mode `off`. */
export type Effort = "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** The priority of a request at the upstream, with the original value for the codec of the same protocol. */
export interface ServiceTier {
  readonly tier: "auto" | "standard" | "flex" | "priority";
  readonly raw: Raw;
}

/** The canonical names of the fields that an encoder may have to drop. */
export const REQUEST_FIELDS = [
  "system",
  /** Blocks of the history. */
  "messages",
  /** A participant's name. */
  "messageName",
  "tools",
  /** The guarantee that tool arguments match their schema. */
  "toolStrictness",
  "toolChoice",
  "webSearch",
  "parallelTools",
  "format",
  "verbosity",
  "maxOutputTokens",
  "stop",
  "temperature",
  "topP",
  "topK",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "reasoning",
  /** Sealed parts of reasoning in the history. */
  "sealedReasoning",
  "serviceTier",
  "user",
  "cacheKey",
  "cache",
  "metadata",
  "logprobs",
  "cacheOptions",
  "cacheRetention",
  "safetyIdentifier",
] as const;

/** One of {@linkcode REQUEST_FIELDS}. */
export type RequestField = typeof REQUEST_FIELDS[number];

/** The names of the fields that have the same name in every protocol. */
export const SHARED_FIELD_NAMES = {
  tools: "tools",
  toolChoice: "tool_choice",
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  seed: "seed",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  serviceTier: "service_tier",
  metadata: "metadata",
  cacheOptions: "prompt_cache_options",
  cacheRetention: "prompt_cache_retention",
  safetyIdentifier: "safety_identifier",
} as const satisfies Partial<Record<RequestField, string>>;
