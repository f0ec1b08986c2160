import type { Failure } from "../failure/failure.ts";
import type { ProviderMetadata, Raw } from "../content/extras.ts";
import type { AnswerBlock } from "../content/block.ts";

/** A whole answer. */
export interface Answer {
  /** The upstream's id with its prefix; empty where it gave none. */
  readonly id: string;
  /** The model as the upstream names it; empty where it does not. */
  readonly model: string;
  /** Milliseconds since 1970, where the upstream says. */
  readonly createdAtMs?: number | undefined;
  /** In the order in which they began. */
  readonly blocks: readonly AnswerBlock[];
  readonly stop: Stop;
  /** Absent when the upstream did not count. */
  readonly usage?: Usage | undefined;
  /** The service tier that served it, in the upstream's word. */
  readonly serviceTier?: Raw | undefined;
  /** Why the upstream left out earlier reasoning of the request, in its words; absent where it left out none. */
  readonly reasoningDropped?: readonly string[] | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Why an answer ended. */
export interface Stop {
  readonly reason: StopReason;
  /** The upstream's own word, for the log and its own codec. */
  readonly raw?: Raw | undefined;
  /** The stop string that was met, where the upstream says which. */
  readonly sequence?: string | undefined;
  /** The upstream's words on why it filtered the answer. */
  readonly explanation?: string | undefined;
}

/**
 * - `end`: the model was done (also after a refusal in words, which is a refusal block).
 * - `stop_sequence`: a string of `stop` came up.
 * - `tool_calls`: the answer holds calls that the caller must run.
 * - `max_tokens`: the token limit was met. `context_full`: the context window was.
 * - `filtered`: a safety system ended or withheld the answer.
 * - `paused`: a server tool needs another round trip.
 * - `other`: a word that nobody knows. No encoder tells it as a good end.
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
 * Makes the reason agree with the answer, since clients loop or stall when it does not: calls in the
 * answer win over a plain or unknown end, and `tool_calls` without a call is an end. Token limits and filters stand.
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

/** Whether nothing is missing behind the end. */
export function isGoodEnd({ reason }: Stop): boolean {
  return reason === "end" || reason === "stop_sequence" ||
    reason === "tool_calls";
}

/** What an answer is whose context was full before it held anything. */
export const CONTEXT_FULL: Failure = {
  kind: "context_too_long",
  message: "The conversation does not fit the model's context window",
  code: "context_length_exceeded",
};

/**
 * The tokens of one answer. Totals include their parts: `inputTokens` counts cached and written ones too
 * (as Chat and Responses report; the Messages codec converts), `outputTokens` counts reasoning.
 */
export interface Usage {
  readonly inputTokens: number;
  /** Of the input: read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** Of the input: written to a cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** Of those: written for an hour. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly outputTokens: number;
  /** Of the output: thinking. */
  readonly reasoningTokens?: number | undefined;
  /** How fast it was served, in the provider's word, such as `fast`. */
  readonly speed?: string | undefined;
  /** The tier that served it, in the provider's word, such as `priority`. */
  readonly serviceTier?: string | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
  /** What the provider counted beside: other models that it asked, and work of its own. Not in the counts above. */
  readonly others?: readonly OtherUsage[];
}

/** Tokens that one answer used beside those of its own model. */
export interface OtherUsage {
  /** As the provider names it; `undefined`: the answer's own. */
  readonly model: string | undefined;
  readonly usage: Usage;
}

/** Returns the counts of two together, served as the first was, without what is counted beside. */
export function addUsage(one: Usage, other: Usage): Usage {
  const sum = (key: CountKey) =>
    one[key] === undefined && other[key] === undefined
      ? undefined
      : (one[key] ?? 0) + (other[key] ?? 0);
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: sum("cachedInputTokens"),
    cacheWriteTokens: sum("cacheWriteTokens"),
    cacheWrite1hTokens: sum("cacheWrite1hTokens"),
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: sum("reasoningTokens"),
    speed: one.speed,
    serviceTier: one.serviceTier,
  };
}

type CountKey =
  | "cachedInputTokens"
  | "cacheWriteTokens"
  | "cacheWrite1hTokens"
  | "reasoningTokens";

/** No answer has more tokens; what a provider claims beyond that would spoil every sum. */
export const MAX_TOKENS = 1_000_000_000;

/** The value when it is a count of tokens: finite and not negative; to callers it is told as a whole number. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && Number.isFinite(value)
    ? Math.round(Math.min(value, MAX_TOKENS))
    : undefined;
}

/**
 * Returns the counts of a stream that counts several times. Each time counts the whole answer so far, so later counts
 * replace earlier ones; zero and nothing replace no count, since some providers send zeros first and others last.
 */
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
  };
}

/** The later of two counts, of which zero and nothing replace none. */
export function laterCount(
  before: number | undefined,
  later: number | undefined,
): number | undefined {
  return later || (before ?? later);
}

/** Returns the word by which a provider names a speed or a tier; `undefined` for what is none. */
export function servedWord(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Characters that a token has on average. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * A guess where the upstream did not count, for the protocols that demand numbers (Messages, Responses): 0 would read
 * as an empty window. Chat Completions demands none, and gets none.
 *
 * @param inputTokens A rough count of the request's tokens.
 * @param outputCharacters The length of everything that the model wrote.
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
