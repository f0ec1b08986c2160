import { isJsonObject } from "../../core/json.ts";
import { tokenCount, type Usage } from "../canonical/usage.ts";
import type { AnswerWatch } from "../canonical/watch.ts";

/** Watches Responses. */
export const responsesWatch: AnswerWatch = {
  isOutput(event) {
    return typeof event.type === "string" && OUTPUT_REGEXP.test(event.type);
  },
  usageOf(body) {
    return readUsage(body.usage) ??
      (isJsonObject(body.response)
        ? readUsage(body.response.usage)
        : undefined);
  },
  isEnd(data) {
    return END_REGEXP.test(data);
  },
};

const OUTPUT_REGEXP = /\.delta$|^response\.output_item\.done$/;

const END_REGEXP = /"type"\s*:\s*"response\.(completed|incomplete|failed)"/;

function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const inputTokens = tokenCount(usage.input_tokens);
  if (inputTokens === undefined) return undefined;
  const input = isJsonObject(usage.input_tokens_details)
    ? usage.input_tokens_details
    : {};
  const output = isJsonObject(usage.output_tokens_details)
    ? usage.output_tokens_details
    : {};
  return {
    inputTokens,
    cachedInputTokens: tokenCount(input.cached_tokens),
    cacheWriteTokens: tokenCount(input.cache_write_tokens),
    outputTokens: tokenCount(usage.output_tokens) ?? 0,
    reasoningTokens: tokenCount(output.reasoning_tokens),
  };
}
