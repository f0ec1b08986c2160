import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type { AnswerBlock } from "../../canonical/content/block.ts";
import type { Failure } from "../../canonical/failure/failure.ts";
import type { Stop, StopReason } from "../../canonical/answer/answer.ts";
import {
  failureOfWord,
  reasonOfWord,
} from "../../canonical/answer/stop_words.ts";
import { optionalText } from "../request/fields.ts";

/** Longest explanation of a refusal, in characters; the words stand in the answer too. */
const MAX_EXPLANATION_LENGTH = 4096;

/** How the protocol names an end; one that nobody understands is not told as a good one. */
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

/** What a message or a `message_delta` tells of an answer that did not come to its end. */
export function decodeFailedStop(holder: JsonObject): Failure | undefined {
  return failureOfWord(optionalText(holder.stop_reason) ?? "");
}

/**
 * Reads `stop_reason`, `stop_sequence` and `stop_details` of a message or a `message_delta`. An answer that ended
 * without a reason ended well, since its protocol's last event came.
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
 * Writes the same fields. Words of refusal make the end a refusal: the protocol has no block for them, they
 * stand there as text.
 *
 * @param refusal The words of the answer's refusal blocks; empty where it has none.
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

/** The words of the refusal blocks of an answer, as {@linkcode joinRefusal} joins them. */
export function refusalOf(blocks: readonly AnswerBlock[]): string {
  return blocks.reduce(
    (refusal, block) =>
      block.kind === "refusal" ? joinRefusal(refusal, block.text) : refusal,
    "",
  );
}

/** Adds words to a refusal, up to the length that an explanation may have. */
export function joinRefusal(refusal: string, words: string): string {
  return refusal.length >= MAX_EXPLANATION_LENGTH
    ? refusal
    : (refusal + words).slice(0, MAX_EXPLANATION_LENGTH);
}

/** The protocol's own word where the answer came in it, if only a word unknown here. */
function wordOf({ reason, raw }: Stop): string {
  if (reason === "other" && raw?.protocol === "messages") return raw.value;
  return WORD_BY_REASON[reason];
}
