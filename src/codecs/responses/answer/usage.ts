import { isJsonObject, type JsonObject, objectOf } from "@gateway/base/json";
import {
  servedWord,
  tokenCount,
  type Usage,
} from "../../canonical/answer/answer.ts";
import { readInput } from "../../canonical/answer/cache_counts.ts";

/**
 * Reads the `usage` of a response, and the tier that served the response. `input_tokens` includes cached tokens.
 * Background work with a discounted time window has the tier `background_2h` or `background_8h`
 * (developers.openai.com/api/docs/guides/background).
 *
 * @returns `undefined` when the response has no counts.
 */
export function usageIn(
  { usage, service_tier, background_options }: JsonObject,
): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = tokenCount(usage.input_tokens);
  const output = tokenCount(usage.output_tokens);
  if (input === undefined && output === undefined) return undefined;
  const outputDetails = objectOf(usage.output_tokens_details);
  const window = servedWord(objectOf(background_options).completion_window);
  const isUsual = window === undefined || window === "soonest";
  return {
    ...readInput(usage, [input, output]),
    outputTokens: output ?? 0,
    reasoningTokens: tokenCount(outputDetails.reasoning_tokens),
    speed: servedWord(usage.speed),
    serviceTier: isUsual ? servedWord(service_tier) : `background_${window}`,
  };
}

/**
 * Returns a `usage` object with every number that clients require. A count that the provider did not send is 0. Clients
 * use these numbers to decide when to shorten the conversation. Some clients fail without them.
 */
export function encodeUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
