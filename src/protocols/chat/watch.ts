import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { tokenCount, type Usage } from "../canonical/usage.ts";
import type { AnswerWatch } from "../canonical/watch.ts";

/** Watches Chat Completions, and legacy completions, whose chunks have `text` in place of a delta. */
export const chatWatch: AnswerWatch = {
  isOutput(event) {
    return choices(event).some((choice) =>
      isFilled(choice.text) ||
      isJsonObject(choice.delta) && OUTPUT_KEYS.some((key) =>
          isFilled(
            isJsonObject(choice.delta) ? choice.delta[key] : undefined,
          )
        )
    );
  },
  usageOf(body) {
    return readUsage(body.usage) ??
      choices(body).map((choice) => readUsage(choice.usage)).find(Boolean);
  },
  isEnd(data) {
    return data === "[DONE]" || FINISH_REGEXP.test(data);
  },
};

/** Perplexity and Cerebras end without `[DONE]`; OpenRouter calls a failure a reason to finish. */
const FINISH_REGEXP = /"finish_reason"\s*:\s*"(?!error")/;

const OUTPUT_KEYS = [
  "content",
  "reasoning_content",
  "reasoning",
  "tool_calls",
  "refusal",
];

function choices(body: JsonObject): readonly JsonObject[] {
  return Array.isArray(body.choices) ? body.choices.filter(isJsonObject) : [];
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" || Array.isArray(value)
    ? value.length > 0
    : false;
}

/** Moonshot puts the usage of a stream into the choice that finishes. */
function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const inputTokens = tokenCount(usage.prompt_tokens);
  if (inputTokens === undefined) return undefined;
  const input = isJsonObject(usage.prompt_tokens_details)
    ? usage.prompt_tokens_details
    : {};
  const output = isJsonObject(usage.completion_tokens_details)
    ? usage.completion_tokens_details
    : {};
  return {
    inputTokens,
    cachedInputTokens: tokenCount(input.cached_tokens) ??
      tokenCount(usage.prompt_cache_hit_tokens),
    cacheWriteTokens: tokenCount(input.cache_write_tokens),
    outputTokens: tokenCount(usage.completion_tokens) ?? 0,
    reasoningTokens: tokenCount(output.reasoning_tokens),
  };
}
