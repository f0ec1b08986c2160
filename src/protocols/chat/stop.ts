import type { Stop, StopReason } from "../canonical/stop.ts";

const REASON_BY_WORD: ReadonlyMap<string, StopReason> = new Map<
  string,
  StopReason
>([
  ["stop", "end"],
  ["length", "max_tokens"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "filtered"],
  // Words of providers that imitate the protocol.
  ["end_turn", "end"],
  ["eos", "end"],
  ["max_tokens", "max_tokens"],
  ["model_length", "context_full"],
  ["sensitive", "filtered"],
]);

const WORD_BY_REASON: Readonly<Record<StopReason, string>> = {
  end: "stop",
  stop_sequence: "stop",
  tool_calls: "tool_calls",
  max_tokens: "length",
  context_full: "length",
  filtered: "content_filter",
  paused: "stop",
  other: "stop",
};

/** Reads a `finish_reason`. */
export function decodeStop(word: string): Stop {
  return {
    reason: REASON_BY_WORD.get(word) ?? "other",
    raw: { protocol: "chat", value: word },
  };
}

/** Writes a `finish_reason`. */
export function encodeStop(stop: Stop): string {
  return WORD_BY_REASON[stop.reason];
}
