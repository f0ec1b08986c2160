import { isJsonObject, type JsonObject, objectOf } from "@gateway/base/json";
import type { Failure } from "../../canonical/failure/failure.ts";
import {
  servedWord,
  type Stop,
  type StopReason,
  type Usage,
} from "../../canonical/answer/answer.ts";
import {
  failureOfWord,
  reasonOfWord,
} from "../../canonical/answer/stop_words.ts";
import { optionalText } from "../request/fields.ts";

/** The maximum length of a refusal's explanation, in characters. The whole text is also in the answer's content. */
const MAX_EXPLANATION_LENGTH = 4096;

/**
 * The `stop_reason` for each reason. An unknown reason becomes `max_tokens`, because it must not look like a good end.
 */
const WORD_BY_REASON: Readonly<Record<StopReason, string>> = {
  end: "end_turn",
  stop_sequence: "stop_sequence",
  tool_calls: "tool_use",
  max_tokens: "max_tokens",
  context_full: "model_context_window_exceeded",
  filtered: "refusal",
  paused: "pause_turn",
  other: "max_tokens",
};

/** Returns the failure that a message or a `message_delta` reports as its stop reason. */
export function decodeFailedStop(holder: JsonObject): Failure | undefined {
  return failureOfWord(optionalText(holder.stop_reason) ?? "");
}

/**
 * Reads `stop_reason`, `stop_sequence` and `stop_details` of a message or a `message_delta`. A missing reason is a good
 * end, because the protocol's last event arrived.
 */
export function decodeStop(holder: JsonObject): Stop {
  const word = optionalText(holder.stop_reason) ?? "";
  const details = isJsonObject(holder.stop_details) ? holder.stop_details : {};
  return {
    reason: word === "" ? "end" : reasonOfWord(word),
    raw: word === "" ? undefined : { protocol: "messages", value: word },
    sequence: optionalText(holder.stop_sequence),
    explanation: optionalText(details.explanation),
  };
}

/**
 * Returns the category of a refusal that came before any output. Anthropic bills only some categories of such refusals
 * (platform.claude.com/docs/en/build-with-claude/refusals-and-fallback). In a stream, the count of output tokens begins
 * at 1.
 */
export function refusalBefore(
  ending: JsonObject,
  { outputTokens }: Usage,
): string | undefined {
  if (ending.stop_reason !== WORD_BY_REASON.filtered || outputTokens > 1) {
    return undefined;
  }
  return servedWord(objectOf(ending.stop_details).category) ?? "other";
}

/**
 * Encodes the fields that {@linkcode decodeStop} reads. If the answer has a refusal block, the reason becomes
 * `refusal`, because the block itself becomes plain text.
 *
 * @param refusal The text of the answer's refusal blocks, or empty when it has none.
 */
export function encodeStop(stop: Stop, refusal: string): JsonObject {
  const word = refusal !== "" && stop.reason === "end"
    ? WORD_BY_REASON.filtered
    : wordOf(stop);
  return {
    stop_reason: word,
    stop_sequence: stop.sequence ?? null,
    stop_details: word === WORD_BY_REASON.filtered
      ? {
        type: "refusal",
        category: null,
        explanation: stop.explanation ?? (refusal === "" ? null : refusal),
      }
      : null,
  };
}

/** Appends text to the text of an answer's refusal blocks, up to the maximum length of an explanation. */
export function joinRefusal(refusal: string, words: string): string {
  return refusal.length >= MAX_EXPLANATION_LENGTH
    ? refusal
    : (refusal + words).slice(0, MAX_EXPLANATION_LENGTH);
}

/** Returns the `stop_reason` for a stop. A word of this protocol that the gateway does not know stays unchanged. */
function wordOf({ reason, raw }: Stop): string {
  if (reason === "other" && raw?.protocol === "messages") return raw.value;
  return WORD_BY_REASON[reason];
}
