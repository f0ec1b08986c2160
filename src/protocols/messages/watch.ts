import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { tokenCount, type Usage } from "../canonical/usage.ts";
import type { AnswerWatch } from "../canonical/watch.ts";

/** Watches Messages. */
export const messagesWatch: AnswerWatch = {
  isOutput(event) {
    if (event.type === "content_block_delta") return true;
    return event.type === "content_block_start" &&
      isJsonObject(event.content_block) &&
      event.content_block.type !== "text" &&
      event.content_block.type !== "thinking";
  },
  usageOf(body) {
    return readUsage(body) ??
      (isJsonObject(body.message) ? readUsage(body.message) : undefined);
  },
  isEnd(data) {
    return MESSAGE_STOP_REGEXP.test(data);
  },
};

const MESSAGE_STOP_REGEXP = /"type"\s*:\s*"message_stop"/;

/** `input_tokens` leaves the cached ones out here; the neutral count includes them. */
function readUsage(holder: JsonObject): Usage | undefined {
  const { usage } = holder;
  if (!isJsonObject(usage)) {
    const counted = tokenCount(holder.input_tokens);
    return counted === undefined
      ? undefined
      : { inputTokens: counted, outputTokens: 0 };
  }
  const fresh = tokenCount(usage.input_tokens);
  const outputTokens = tokenCount(usage.output_tokens);
  if (fresh === undefined && outputTokens === undefined) return undefined;
  const cachedInputTokens = tokenCount(usage.cache_read_input_tokens);
  const cacheWriteTokens = tokenCount(usage.cache_creation_input_tokens);
  return {
    inputTokens: (fresh ?? 0) + (cachedInputTokens ?? 0) +
      (cacheWriteTokens ?? 0),
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens: outputTokens ?? 0,
  };
}
