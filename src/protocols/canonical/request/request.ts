import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { Block, CacheMark } from "../content/block.ts";
import type { Extras, ProviderMetadata, Raw } from "../content/extras.ts";
import type { Tool, ToolChoice } from "../tools/tool.ts";

/**
 * A request for an answer, in no protocol's spelling. An absent field was not given: an encoder leaves it
 * out too, unless its protocol demands one.
 */
export interface CanonicalRequest {
  /** The model as the caller asked for it; an encoder writes the target's model instead. */
  readonly model: string;
  /** Whether the caller wants events. */
  readonly stream: boolean;
  readonly turns: readonly Turn[];
  /** Whether the caller's protocol says that the answer shall go on with the last turn; absent: no. */
  readonly continues?: boolean | undefined;
  /** In the caller's order, which upstream caches depend on. */
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
  /** Asks the upstream to search the web as it answers. */
  readonly webSearch?: WebSearch | undefined;
  /** Whether the model may call several tools at once. */
  readonly parallelTools?: boolean | undefined;
  /** Absent means free text. */
  readonly format?: OutputFormat | undefined;
  readonly verbosity?: "low" | "medium" | "high" | undefined;
  /** Upper bound of the answer, reasoning included, as the caller wrote it. */
  readonly maxOutputTokens?: number | undefined;
  /** Strings that end the answer; never an empty list. */
  readonly stop?: readonly string[] | undefined;
  readonly sampling: Sampling;
  readonly reasoning?: ReasoningSettings | undefined;
  readonly serviceTier?: ServiceTier | undefined;
  /** Who the caller says is behind the request; opaque. */
  readonly user?: string | undefined;
  /** Requests with the same key share an upstream's prompt cache. */
  readonly cacheKey?: string | undefined;
  /**
   * Names the conversation, where that can be read out of `user`: stands in for a cache key that was not given.
   * Leaving it out is no loss.
   */
  readonly conversation?: string | undefined;
  /** Asks for automatic caching of the longest prefix. */
  readonly cache?: CacheMark | undefined;
  /** Labels that come back with the answer or stand in the upstream's records. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Asks how probable the tokens of the answer are. */
  readonly logprobs?: Logprobs | undefined;
  /** How the upstream caches the prompt, as both of OpenAI's protocols spell it. */
  readonly cacheOptions?: Raw<JsonValue> | undefined;
  /** How long the upstream keeps the prompt in its cache, as both of OpenAI's protocols spell it. */
  readonly cacheRetention?: Raw<JsonValue> | undefined;
  /** A name for who is behind the request, for the upstream's safety systems; `user` where no other was given. */
  readonly safetyIdentifier?: Raw | undefined;
  readonly extras: Extras;
}

/**
 * One speaker's blocks in a row. Decoders make them so:
 * - `system` and `developer` stand wherever the caller put them; blocks are text (images where the wire has them).
 * - `assistant` holds everything of one answer: reasoning, text, refusal and calls, in the wire's order; items that
 *   follow each other on a wire of items are one turn.
 * - `tool` holds only tool results; results that follow each other are one turn. Results that stand first in a
 *   Messages user message become a `tool` turn before the `user` turn with the rest.
 * - `user` holds the rest. Two turns of the same role in a row are legal.
 *
 * A string of text is one text block.
 */
export interface Turn {
  readonly role: Role;
  readonly blocks: readonly Block[];
  /** The participant's name (chat). */
  readonly name?: string | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Who speaks. */
export type Role = "system" | "developer" | "user" | "assistant" | "tool";

/** The shape that the answer's text must have. */
export type OutputFormat =
  /** Any JSON object. */
  | { readonly type: "json" }
  | {
    readonly type: "schema";
    readonly schema: JsonObject;
    readonly name?: string | undefined;
    readonly description?: string | undefined;
    /** Absent means that the caller did not say. */
    readonly strict?: boolean | undefined;
  };

/** How the upstream searches the web. */
export interface WebSearch {
  /** How much of what is found goes into the context: `low`, `medium`, `high`. */
  readonly contextSize?: string | undefined;
  /** Roughly where the user is: `city`, `country`, `region`, `timezone`. */
  readonly location?: JsonObject | undefined;
}

/** How tokens are drawn; values as the caller wrote them. */
export interface Sampling {
  /** 0 to 2 (Messages: to 1). */
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly seed?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
}

/** Which log probabilities an answer shall hold. */
export interface Logprobs {
  /** How many other tokens shall stand beside each; absent: the upstream's default. */
  readonly top?: number | undefined;
}

/** How much the model shall think, and what of it is shown. */
export interface ReasoningSettings {
  /**
   * `off`: not at all; `budget`: up to `budgetTokens`; `adaptive`: as the model sees fit; `between_tools`:
   * only after tool results. Absent: whatever the model does at this effort.
   */
  readonly mode?: "off" | "budget" | "adaptive" | "between_tools" | undefined;
  /** Given with mode `budget` alone. */
  readonly budgetTokens?: number | undefined;
  readonly effort?: Effort | undefined;
  /** What the caller wants to read of it; absent: the upstream's default. */
  readonly summary?: "none" | "auto" | "concise" | "detailed" | undefined;
}

/** From little to much. "No reasoning" is the mode `off`. */
export type Effort = "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** How urgently the upstream works, and the wire's own word, which its own codec writes again. */
export interface ServiceTier {
  readonly tier: "auto" | "standard" | "flex" | "priority";
  readonly raw: Raw;
}

/** The canonical names of what an encoder may be unable to carry. */
export const REQUEST_FIELDS = [
  "system",
  /** Blocks of the history. */
  "messages",
  /** A participant's name. */
  "messageName",
  "tools",
  /** That arguments of tools match their schema. */
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
