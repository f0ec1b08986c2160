import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { Stop, StopReason } from "../../canonical/answer/answer.ts";
import { reasonOfWord } from "../../canonical/answer/stop_words.ts";

/** The `reason` of an `incomplete` answer for each stop reason. An unknown reason must not look like a good end. */
const WORD_BY_REASON: Readonly<Partial<Record<StopReason, string>>> = {
  max_tokens: "max_output_tokens",
  context_full: "max_output_tokens",
  filtered: "content_filter",
  other: "max_output_tokens",
};

/** Reads the reason for the end of a response. The `status` of the response is `completed` or `incomplete`. */
export function decodeStop(
  status: "completed" | "incomplete",
  response: JsonObject,
): Stop {
  const details = response.incomplete_details;
  const reason = isJsonObject(details) ? details.reason : undefined;
  const word = status === "incomplete" && typeof reason === "string"
    ? reason
    : status;
  return {
    reason: reasonOfWord(word),
    raw: { protocol: "responses", value: word },
  };
}

/** Returns the fields of a response object that report its end. */
export function encodeStop(stop: Stop): {
  status: "completed" | "incomplete";
  incomplete_details: JsonObject | null;
} {
  const reason = WORD_BY_REASON[stop.reason];
  return reason === undefined
    ? { status: "completed", incomplete_details: null }
    : { status: "incomplete", incomplete_details: { reason } };
}
