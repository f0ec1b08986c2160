import type { Ids } from "../../core/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import { overloaded } from "../providers.ts";
import { messagesError } from "../refusal.ts";
import {
  type Block,
  fragmentsOf,
  type RenderContext,
  type Rendering,
  type Script,
  seal,
  type StopReason,
  type Usage,
  wordsOf,
} from "../script.ts";
import { type Step, writeEvent } from "../speak.ts";

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

const STOP_REASONS: Readonly<Record<StopReason, string>> = {
  end: "end_turn",
  sequence: "stop_sequence",
  length: "max_tokens",
  call: "tool_use",
};

/** `script` as a Messages answer and as its events. */
export function renderMessages(
  script: Script,
  { ids, ask }: RenderContext,
): Rendering {
  const named = {
    id: ids.next("msg"),
    type: "message",
    role: "assistant",
    model: ask.model,
  };
  const content = script.blocks.map((block) => contentBlock(block, ids));
  const stop = {
    stop_reason: STOP_REASONS[script.stop],
    stop_sequence: script.stopSequence ?? null,
    stop_details: null,
  };
  const usage = messagesUsage(script.usage);
  const { output_tokens } = usage;
  const start = {
    ...named,
    content: [],
    usage: { ...usage, output_tokens: 1 },
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  };
  return {
    whole: { ...named, content, ...stop, usage },
    stream: {
      steps: () => [
        writeEvent({ type: "message_start", message: start }),
        writeEvent({ type: "ping" }),
        ...content.flatMap(blockSteps),
        writeEvent({
          type: "message_delta",
          delta: stop,
          usage: { output_tokens },
        }),
        writeEvent({ type: "message_stop" }),
      ],
      failure: () => [
        writeEvent({ type: "error", error: messagesError(overloaded()) }),
      ],
    },
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

/** Usage in the Messages shape: the input excludes what was cached, unlike in the other two protocols. */
function messagesUsage(usage: Usage) {
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

function blockSteps(block: ContentBlock, index: number): Step[] {
  return [
    writeEvent({
      type: "content_block_start",
      index,
      content_block: openingOf(block),
    }),
    ...deltasOf(block).map((delta) =>
      writeEvent({ type: "content_block_delta", index, delta }, 1)
    ),
    writeEvent({ type: "content_block_stop", index }),
  ];
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
