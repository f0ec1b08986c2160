import type { Protocol } from "../../../src/base/protocol.ts";
import type { StopReason } from "../../../src/codecs/canonical/answer/answer.ts";

/** The stop reasons of each protocol. Refusals have the reason `refusal` in Messages. */
export const STOP_WORDS: Readonly<
  Record<Protocol, Readonly<Record<StopReason, string>>>
> = {
  chat: {
    end: "stop",
    stop_sequence: "stop",
    tool_calls: "tool_calls",
    max_tokens: "length",
    context_full: "length",
    filtered: "content_filter",
    paused: "stop",
    other: "length",
  },
  messages: {
    end: "end_turn",
    stop_sequence: "stop_sequence",
    tool_calls: "tool_use",
    max_tokens: "max_tokens",
    context_full: "model_context_window_exceeded",
    filtered: "refusal",
    paused: "pause_turn",
    other: "max_tokens",
  },
  responses: {
    end: "completed",
    stop_sequence: "completed",
    tool_calls: "completed",
    max_tokens: "max_output_tokens",
    context_full: "max_output_tokens",
    filtered: "content_filter",
    paused: "completed",
    other: "max_output_tokens",
  },
};
