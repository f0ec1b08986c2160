import type { JsonObject } from "@gateway/base/json";
import type { Failure } from "../../canonical/failure/failure.ts";
import type { Stop, StopReason } from "../../canonical/answer/answer.ts";
import {
  failureOfWord,
  isStopWord,
  reasonOfWord,
  worseWord,
} from "../../canonical/answer/stop_words.ts";

/**
 * The `finish_reason` for each stop reason. An unknown reason becomes `length`, because it must not look like a good
 * end.
 */
const WORD_BY_REASON: Readonly<Record<StopReason, string>> = {
  end: "stop",
  stop_sequence: "stop",
  tool_calls: "tool_calls",
  max_tokens: "length",
  context_full: "length",
  filtered: "content_filter",
  paused: "stop",
  other: "length",
};

/** The end of a choice: a stop, or a failure. */
type ChoiceEnd = { readonly stop: Stop } | { readonly failure: Failure };

/**
 * Reads `finish_reason` and the fields that some providers put beside it. `native_finish_reason` is the word of the
 * provider behind a router. vLLM's `stop_reason` and SGLang's `matched_stop` are the stop string that matched.
 *
 * @returns `undefined` when the choice continues. As long as a choice continues, DashScope sends the word `null`.
 */
export function decodeEnd(choice: JsonObject): ChoiceEnd | undefined {
  const { finish_reason, native_finish_reason } = choice;
  if (!isWord(finish_reason) || finish_reason === "null") return undefined;
  const word = isWord(native_finish_reason)
    ? worseWord(finish_reason, native_finish_reason)
    : finish_reason;
  const failure = failureOfWord(word);
  if (failure !== undefined) return { failure };
  const sequence = stopString(choice);
  const reason = reasonOfWord(word);
  const raw = { protocol: "chat", value: word } as const;
  return reason === "end" && sequence !== undefined
    ? { stop: { reason: "stop_sequence", raw, sequence } }
    : { stop: { reason, raw } };
}

/**
 * Returns the stop string that matched. Returns `undefined` if a provider's value is a number, which is a token id, or
 * a reason such as `end_turn`.
 */
function stopString(
  { stop_reason, matched_stop }: JsonObject,
): string | undefined {
  return [stop_reason, matched_stop].find((one): one is string =>
    isWord(one) && !isStopWord(one)
  );
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Returns the `finish_reason` for a stop. */
export function encodeStop(stop: Stop): string {
  return WORD_BY_REASON[stop.reason];
}
