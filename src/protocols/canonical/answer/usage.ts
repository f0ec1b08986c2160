import type { Marks } from "../request/extras.ts";

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
  readonly outputTokens: number;
  /** Of the output: thinking. */
  readonly reasoningTokens?: number | undefined;
  readonly marks?: Marks | undefined;
}

/** No answer has more tokens; what a provider claims beyond that would spoil every sum. */
export const MAX_TOKENS = 1_000_000_000;

/** The value when it is a count of tokens: finite and not negative; to callers it is told as a whole number. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && Number.isFinite(value)
    ? Math.round(Math.min(value, MAX_TOKENS))
    : undefined;
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
