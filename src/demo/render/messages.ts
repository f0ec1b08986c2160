import type { Ids } from "../../core/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import {
  type Block,
  fragmentsOf,
  type RenderContext,
  type Script,
  seal,
  type StopReason,
  type Usage,
  wordsOf,
} from "../script.ts";
import { type Step, writeEvent } from "../speak.ts";

/** A Messages answer. */
export interface MessagesAnswer {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly ContentBlock[];
  readonly stop_reason: MessagesStopReason;
  readonly stop_sequence: string | null;
  readonly stop_details: null;
  readonly usage: MessagesUsage;
}

type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | {
    readonly type: "thinking";
    readonly thinking: string;
    readonly signature: string;
  }
  | {
    readonly type: "tool_use";
    readonly id: string;
    readonly name: string;
    readonly input: JsonObject;
  };

type MessagesStopReason =
  | "end_turn"
  | "max_tokens"
  | "tool_use"
  | "stop_sequence";

interface MessagesUsage {
  /** Excludes the cached ones, unlike in the other two protocols. */
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly output_tokens: number;
  readonly service_tier: "standard";
}

const STOP_REASONS: Readonly<Record<StopReason, MessagesStopReason>> = {
  end: "end_turn",
  sequence: "stop_sequence",
  length: "max_tokens",
  call: "tool_use",
};

/** `script` as a whole Messages answer. */
export function renderMessages(
  script: Script,
  { ids, ask }: RenderContext,
): MessagesAnswer {
  return {
    id: ids.next("msg"),
    type: "message",
    role: "assistant",
    model: ask.model,
    content: script.blocks.map((block) => contentBlock(block, ids)),
    stop_reason: STOP_REASONS[script.stop],
    stop_sequence: script.stopSequence ?? null,
    stop_details: null,
    usage: messagesUsage(script.usage),
  };
}

function contentBlock(block: Block, ids: Ids): ContentBlock {
  switch (block.kind) {
    case "reasoning":
      return {
        type: "thinking",
        thinking: block.isShown ? block.text : "",
        signature: seal(block.text),
      };
    case "call": {
      const input = parseJson(block.input);
      return {
        type: "tool_use",
        id: ids.next("toolu"),
        name: block.tool.name,
        input: isJsonObject(input) ? input : {},
      };
    }
    case "text":
    case "compaction":
      return { type: "text", text: block.text };
  }
}

function messagesUsage(usage: Usage): MessagesUsage {
  return {
    input_tokens: usage.inputTokens - usage.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: 0,
      ephemeral_1h_input_tokens: 0,
    },
    output_tokens: usage.outputTokens,
    service_tier: "standard",
  };
}

/** `answer` as the events of a stream. */
export function* streamMessages(answer: MessagesAnswer): Generator<Step> {
  const { stop_reason, stop_sequence, stop_details, ...start } = answer;
  yield writeEvent({
    type: "message_start",
    message: {
      ...start,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: { ...start.usage, output_tokens: 1 },
    },
  });
  yield writeEvent({ type: "ping" });
  for (const [index, block] of answer.content.entries()) {
    yield* blockSteps(block, index);
  }
  yield writeEvent({
    type: "message_delta",
    delta: { stop_reason, stop_sequence, stop_details },
    usage: { output_tokens: answer.usage.output_tokens },
  });
  yield writeEvent({ type: "message_stop" });
}

function* blockSteps(block: ContentBlock, index: number): Generator<Step> {
  yield writeEvent({
    type: "content_block_start",
    index,
    content_block: openingOf(block),
  });
  for (const delta of deltasOf(block)) {
    yield writeEvent({ type: "content_block_delta", index, delta }, 1);
  }
  yield writeEvent({ type: "content_block_stop", index });
}

function openingOf(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: "" };
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "tool_use":
      return { ...block, input: {} };
  }
}

function deltasOf(block: ContentBlock): object[] {
  switch (block.type) {
    case "text":
      return wordsOf(block.text).map((text) => ({ type: "text_delta", text }));
    case "thinking":
      return [
        ...wordsOf(block.thinking).map((thinking) => ({
          type: "thinking_delta",
          thinking,
        })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "tool_use":
      return fragmentsOf(JSON.stringify(block.input)).map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
  }
}
