import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import { tokenCount, type Usage } from "../canonical/usage.ts";

/**
 * Reads a `usage` object; `prompt_tokens` includes cached tokens. Also takes the names that some providers use
 * for the counts of another protocol, and DeepSeek's cache counters.
 *
 * @returns `undefined` when it counts nothing.
 */
export function decodeUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const input = tokenCount(value.prompt_tokens) ??
    tokenCount(value.input_tokens);
  const output = outputTokens(value, input);
  if (input === undefined && output === undefined) return undefined;
  const inputDetails = details(
    value.prompt_tokens_details,
    value.input_tokens_details,
  );
  const outputDetails = details(
    value.completion_tokens_details,
    value.output_tokens_details,
  );
  return {
    inputTokens: input ?? 0,
    cachedInputTokens: tokenCount(inputDetails.cached_tokens) ??
      tokenCount(value.prompt_cache_hit_tokens) ??
      tokenCount(value.cached_tokens) ??
      tokenCount(value.cache_read_input_tokens),
    cacheWriteTokens: tokenCount(inputDetails.cache_write_tokens) ??
      tokenCount(value.cache_creation_input_tokens),
    outputTokens: output ?? 0,
    reasoningTokens: tokenCount(outputDetails.reasoning_tokens) ??
      tokenCount(value.reasoning_tokens),
  };
}

/** Writes a `usage` object; what the upstream did not count is left out. */
export function encodeUsage(usage: Usage): JsonObject {
  const {
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens,
  } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...encodeDetails("prompt_tokens_details", {
      cached_tokens: cachedInputTokens,
      cache_write_tokens: cacheWriteTokens,
    }),
    ...encodeDetails("completion_tokens_details", {
      reasoning_tokens: reasoningTokens,
    }),
  };
}

function encodeDetails(
  name: string,
  counts: Readonly<Record<string, number | undefined>>,
): JsonObject {
  const known = Object.entries(counts).filter(([, count]) =>
    count !== undefined
  );
  return known.length === 0 ? {} : { [name]: Object.fromEntries(known) };
}

/** Some providers leave reasoning out of `completion_tokens` and show it in the total only (xAI, Gemini). */
function outputTokens(
  usage: JsonObject,
  input: number | undefined,
): number | undefined {
  const output = tokenCount(usage.completion_tokens) ??
    tokenCount(usage.output_tokens);
  const total = tokenCount(usage.total_tokens);
  if (input === undefined || total === undefined) return output;
  return Math.max(output ?? 0, total - input);
}

function details(
  own: JsonValue | undefined,
  other: JsonValue | undefined,
): JsonObject {
  if (isJsonObject(own)) return own;
  return isJsonObject(other) ? other : {};
}
