import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { isErrorBody, mayBeFailure } from "../canonical/failure/error_body.ts";
import { tokenCount, type Usage } from "../canonical/answer/usage.ts";
import type { AnswerWatch } from "../canonical/stream/watch.ts";
import { decodeUsage, laterUsage } from "./answer/usage.ts";

/** Watches Messages. */
export const messagesWatch: AnswerWatch = {
  usageMark: 'usage"',
  mayCount: (text) => USAGE_REGEXP.test(text),
  mayBeFailure,
  isOutput(event) {
    if (event.type === "content_block_delta") return true;
    return event.type === "content_block_start" &&
      isJsonObject(event.content_block) &&
      event.content_block.type !== "text" &&
      event.content_block.type !== "thinking";
  },
  failureOf(body) {
    return isErrorBody(body) ? body : undefined;
  },
  usageOf(body, before) {
    const counted = readUsage(body) ??
      (isJsonObject(body.message) ? readUsage(body.message) : undefined);
    return counted && laterUsage(before, counted);
  },
  isEnd(data) {
    return MESSAGE_STOP_REGEXP.test(data);
  },
  isFailure(data) {
    return FAILURE_REGEXP.test(data);
  },
};

/** A usage that is there, or the answer of a count of tokens. */
const USAGE_REGEXP = /"usage"\s*:\s*\{|"input_tokens"/;

const MESSAGE_STOP_REGEXP = /"type"\s*:\s*"message_stop"/;

const FAILURE_REGEXP = /"type"\s*:\s*"error"|"error"\s*:\s*\{/;

/** The counts of an answer, or those of a count of tokens. */
function readUsage(holder: JsonObject): Usage | undefined {
  const { usage } = holder;
  if (!isJsonObject(usage)) {
    const counted = tokenCount(holder.input_tokens);
    return counted === undefined
      ? undefined
      : { inputTokens: counted, outputTokens: 0 };
  }
  const counted = decodeUsage(usage);
  if (counted === undefined) return undefined;
  const { marks: _marks, ...counts } = counted;
  return counts;
}
