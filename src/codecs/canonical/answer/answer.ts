import type { Failure } from "../failure/failure.ts";
import type { ProviderMetadata, Raw } from "../content/extras.ts";
import type { AnswerBlock } from "../content/block.ts";

export interface Answer {
  /** The id that the upstream sent, with the prefix of the id; empty when the upstream sent no id. */
  readonly id: string;
  /** The model that the upstream names; empty when the upstream names no model. */
  readonly model: string;
  /** Milliseconds since 1970, if the upstream sends the time. */
  readonly createdAtMs?: number | undefined;
  /** The blocks in the order in which they started. */
  readonly blocks: readonly AnswerBlock[];
  readonly stop: Stop;
  /** The tokens of the answer; absent when the upstream sent no token counts. */
  readonly usage?: Usage | undefined;
  /** The upstream's name of the service tier that served the answer. */
  readonly serviceTier?: Raw | undefined;
  /** The upstream's reasons for dropping earlier reasoning of the request; absent when no reasoning was dropped. */
  readonly reasoningDropped?: readonly string[] | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

export interface Stop {
  readonly reason: StopReason;
  /** The upstream's own stop reason, for the log and for the codec of the upstream's protocol. */
  readonly raw?: Raw | undefined;
  /** The stop string that ended the answer, if the upstream names it. */
  readonly sequence?: string | undefined;
  /** The upstream's explanation for filtering the answer. */
  readonly explanation?: string | undefined;
}

/**
 * The reason why an answer ended:
 *
 * - `end`: the model was done, also after a refusal block.
 * - `stop_sequence`: the model wrote one of the stop strings.
 * - `tool_calls`: the answer contains calls that the caller must run.
 * - `max_tokens`: the answer reached its token limit. `context_full`: the answer filled the context window.
 * - `filtered`: a safety system ended or withheld the answer.
 * - `paused`: a server tool needs another request.
 * - `other`: an unknown reason. No encoder reports such an answer as complete.
 */
export type StopReason =
  | "end"
  | "stop_sequence"
  | "tool_calls"
  | "max_tokens"
  | "context_full"
  | "filtered"
  | "paused"
  | "other";

/**
 * Returns a stop reason that fits the answer, because a wrong stop reason makes clients loop or hang. With calls, `end`
 * and `other` become `tool_calls`. Without calls, `tool_calls` becomes `end`. Other reasons do not change.
 */
export function settleStop(
  stop: Stop,
  { hasCalls }: { readonly hasCalls: boolean },
): Stop {
  const { reason } = stop;
  if (hasCalls && (reason === "end" || reason === "other")) {
    return { ...stop, reason: "tool_calls" };
  }
  if (!hasCalls && reason === "tool_calls") {
    return { ...stop, reason: "end" };
  }
  return stop;
}

/** Returns true when an answer with this stop is complete. */
export function isGoodEnd({ reason }: Stop): boolean {
  return reason === "end" || reason === "stop_sequence" ||
    reason === "tool_calls";
}

/** The failure for a context window that is full before any output. */
export const CONTEXT_FULL: Failure = {
  kind: "context_too_long",
  message: "The conversation does not fit the model's context window.",
  code: "context_length_exceeded",
};

/**
 * The tokens of one answer. Totals include their parts. `inputTokens` includes the tokens read from and written to a
 * cache, as in Chat and Responses. The Messages codec converts its counts. `outputTokens` includes reasoning.
 */
export interface Usage {
  readonly inputTokens: number;
  /** The input tokens that were read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** The input tokens that were written to a cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** The part of `cacheWriteTokens` that stays in the cache for an hour. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly outputTokens: number;
  readonly reasoningTokens?: number | undefined;
  /** The provider's name of the speed, such as `fast`. */
  readonly speed?: string | undefined;
  /** The provider's name of the service tier, such as `priority`. */
  readonly serviceTier?: string | undefined;
  /** The provider's name of the region of the inference, such as `us`. */
  readonly inferenceGeo?: string | undefined;
  /** Set if the provider refused before any output: its category of the refusal, or `other`. */
  readonly refusal?: string | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
  /**
   * Usage that the counts above do not include: usage by other models that the provider called, or by the provider
   * itself.
   */
  readonly others?: readonly OtherUsage[];
}

/** Tokens that the counts of an answer do not include. */
export interface OtherUsage {
  /** The provider's name of the model; `undefined` for the model that answered. */
  readonly model: string | undefined;
  readonly usage: Usage;
}

/** The most tokens of one answer. A higher count is an error of the provider and would distort every sum. */
const MAX_TOKENS = 1_000_000_000;

/** Returns the value as an integer when it is a token count: finite and not negative. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && Number.isFinite(value)
    ? Math.round(Math.min(value, MAX_TOKENS))
    : undefined;
}

/**
 * Merges two reports of usage in the same stream. Each report covers the whole answer so far, so later counts replace
 * earlier counts. Zero and absent counts replace nothing, because some providers send zeros in the first report and
 * other providers in the last.
 */
export function laterUsage(before: Usage | undefined, later: Usage): Usage;
export function laterUsage(
  before: Usage | undefined,
  later: Usage | undefined,
): Usage | undefined;
export function laterUsage(
  before: Usage | undefined,
  later: Usage | undefined,
): Usage | undefined {
  if (before === undefined || later === undefined) return later ?? before;
  const others = later.others ?? before.others;
  return {
    ...later,
    ...(others === undefined ? {} : { others }),
    inputTokens: later.inputTokens || before.inputTokens,
    cachedInputTokens: laterCount(
      before.cachedInputTokens,
      later.cachedInputTokens,
    ),
    cacheWriteTokens: laterCount(
      before.cacheWriteTokens,
      later.cacheWriteTokens,
    ),
    cacheWrite1hTokens: laterCount(
      before.cacheWrite1hTokens,
      later.cacheWrite1hTokens,
    ),
    outputTokens: later.outputTokens || before.outputTokens,
    reasoningTokens: laterCount(before.reasoningTokens, later.reasoningTokens),
    speed: later.speed ?? before.speed,
    serviceTier: later.serviceTier ?? before.serviceTier,
    inferenceGeo: later.inferenceGeo ?? before.inferenceGeo,
  };
}

/** Returns the later of two counts. A zero or absent count does not replace an earlier count. */
function laterCount(
  before: number | undefined,
  later: number | undefined,
): number | undefined {
  return later || (before ?? later);
}

/** Returns a provider's name of a speed, a tier or a region; `undefined` for any other value. */
export function servedWord(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const CHARACTERS_PER_TOKEN = 4;

/**
 * Estimates the usage when the upstream did not count, for the protocols that require numbers (Messages, Responses).
 * Clients would read 0 as an empty context window. Chat Completions requires no numbers and gets no estimate.
 *
 * @param inputTokens An estimate of the request's tokens.
 * @param outputCharacters The length of the model's output.
 */
export function estimateUsage(
  inputTokens: number,
  outputCharacters: number,
): Usage {
  return {
    inputTokens,
    outputTokens: Math.ceil(outputCharacters / CHARACTERS_PER_TOKEN),
  };
}
