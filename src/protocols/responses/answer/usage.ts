import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import { tokenCount, type Usage } from "../../canonical/answer/usage.ts";

/**
 * Reads a `usage` object; `input_tokens` includes cached tokens. A detail that is absent counts nothing.
 *
 * @returns `undefined` when it counts nothing at all.
 */
export function decodeUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const input = tokenCount(value.input_tokens);
  const output = tokenCount(value.output_tokens);
  if (input === undefined && output === undefined) return undefined;
  const inputDetails = detailsOf(value.input_tokens_details);
  const outputDetails = detailsOf(value.output_tokens_details);
  return {
    inputTokens: input ?? 0,
    cachedInputTokens: tokenCount(inputDetails.cached_tokens) ?? 0,
    cacheWriteTokens: tokenCount(inputDetails.cache_write_tokens) ?? 0,
    outputTokens: output ?? 0,
    reasoningTokens: tokenCount(outputDetails.reasoning_tokens) ?? 0,
  };
}

/**
 * Writes a `usage` object with every number that clients demand: they judge by it when to shorten the conversation,
 * and some fail without an object.
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

function detailsOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
