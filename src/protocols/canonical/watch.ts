import type { JsonObject } from "../../core/json.ts";
import type { Usage } from "./usage.ts";

/** What the log learns from native answers, which pass without being decoded. */
export interface AnswerWatch {
  /** Whether a stream event shows the caller some of the answer: text, reasoning or a call. */
  isOutput(event: JsonObject): boolean;
  /** What a stream event or a whole answer says of a failure, for `decodeFailure`; `undefined` when it says none. */
  failureOf(body: JsonObject): JsonObject | undefined;
  /** The tokens that a stream event or a whole answer counts; `undefined` when it counts none. */
  usageOf(body: JsonObject): Usage | undefined;
  /**
   * Whether an event is the protocol's regular end of a stream. Asked of the last two, since some providers
   * put a `[DONE]` or a count of tokens behind it.
   *
   * @param data The event's data; of long data at least the first and the last 256 characters.
   */
  isEnd(data: string): boolean;
}

/** Adds a later count to an earlier one of the same answer; counts only grow. */
export function laterUsage(earlier: Usage | undefined, later: Usage): Usage {
  if (earlier === undefined) return later;
  return {
    inputTokens: Math.max(earlier.inputTokens, later.inputTokens),
    cachedInputTokens: larger(
      earlier.cachedInputTokens,
      later.cachedInputTokens,
    ),
    cacheWriteTokens: larger(earlier.cacheWriteTokens, later.cacheWriteTokens),
    outputTokens: Math.max(earlier.outputTokens, later.outputTokens),
    reasoningTokens: larger(earlier.reasoningTokens, later.reasoningTokens),
  };
}

function larger(
  one: number | undefined,
  other: number | undefined,
): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.max(one, other);
}
