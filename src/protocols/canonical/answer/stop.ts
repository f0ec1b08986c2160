import type { Raw } from "../request/extras.ts";
import type { Failure } from "../failure/failure.ts";

/** Why an answer ended. */
export interface Stop {
  readonly reason: StopReason;
  /** The upstream's own word, for the log and its own codec. */
  readonly raw?: Raw | undefined;
  /** The stop string that was met, where the upstream says which. */
  readonly sequence?: string | undefined;
  /** The upstream's words on why it filtered the answer. */
  readonly explanation?: string | undefined;
}

/**
 * - `end`: the model was done (also after a refusal in words, which is a refusal block).
 * - `stop_sequence`: a string of `stop` came up.
 * - `tool_calls`: the answer holds calls that the caller must run.
 * - `max_tokens`: the token limit was met. `context_full`: the context window was.
 * - `filtered`: a safety system ended or withheld the answer.
 * - `paused`: a server tool needs another round trip.
 * - `other`: a word that nobody knows. No encoder tells it as a good end.
 */
export type StopReason =
  | "end"
  | "stop_sequence"
  | "tool_calls"
  | "max_tokens"
  | "context_full"
  | "filtered"
  | "paused"
  | "other";

/**
 * Makes the reason agree with the answer, since clients loop or stall when it does not: calls in the
 * answer win over a plain or unknown end, and `tool_calls` without a call is an end. Token limits and filters stand.
 */
export function settleStop(
  stop: Stop,
  { hasCalls }: { readonly hasCalls: boolean },
): Stop {
  const { reason } = stop;
  if (hasCalls && (reason === "end" || reason === "other")) {
    return { ...stop, reason: "tool_calls" };
  }
  if (!hasCalls && reason === "tool_calls") {
    return { ...stop, reason: "end" };
  }
  return stop;
}

/** Whether nothing is missing behind the end. */
export function isGoodEnd({ reason }: Stop): boolean {
  return reason === "end" || reason === "stop_sequence" ||
    reason === "tool_calls";
}

/** What an answer is whose context was full before it held anything. */
export const CONTEXT_FULL: Failure = {
  kind: "context_too_long",
  message: "The conversation does not fit the model's context window",
  code: "context_length_exceeded",
};
