import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { lookup } from "../../core/lookup.ts";
import type { Stop, StopReason } from "../canonical/stop.ts";

const REASON_BY_WORD: Readonly<Record<string, StopReason>> = {
  completed: "end",
  max_output_tokens: "max_tokens",
  content_filter: "filtered",
};

/** Why an answer is `incomplete`, where it is not `completed`. */
const WORD_BY_REASON: Readonly<Partial<Record<StopReason, string>>> = {
  max_tokens: "max_output_tokens",
  context_full: "max_output_tokens",
  filtered: "content_filter",
};

/**
 * Reads why a response object ended.
 *
 * @param status `completed` or `incomplete`.
 */
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
    reason: lookup(REASON_BY_WORD, word) ?? "other",
    raw: { protocol: "responses", value: word },
  };
}

/** The fields of a response object that say how it ended. */
export function encodeStop(
  stop: Stop,
): {
  status: "completed" | "incomplete";
  incomplete_details: JsonObject | null;
} {
  const reason = WORD_BY_REASON[stop.reason];
  return reason === undefined
    ? { status: "completed", incomplete_details: null }
    : { status: "incomplete", incomplete_details: { reason } };
}
