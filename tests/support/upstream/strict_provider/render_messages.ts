import type { Ids } from "../../../../src/base/ids.ts";
import { isJsonObject, parseJson } from "../../../../src/base/json.ts";
import { OVERLOADED } from "../../../../src/tools/demo/providers.ts";
import { messagesError } from "./error_shapes.ts";
import type { Usage } from "../../../../src/codecs/canonical/answer/answer.ts";
import {
  fragmentsOf,
  type ScriptBlock,
  type StrictScript,
  wordsOf,
} from "./ask.ts";
import type { Step } from "../../../../src/tools/demo/speak.ts";
import {
  type StrictContext,
  type StrictRendering,
  writeEvent,
} from "./rendering.ts";
import { seal } from "./seal.ts";

/** A block of an answer, whole and as events. */
interface ContentBlock {
  readonly whole: object;
  /** The empty block at its start. */
  readonly opening: object;
  deltas(): readonly object[];
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  end: "end_turn",
  stop_sequence: "stop_sequence",
  max_tokens: "max_tokens",
  tool_calls: "tool_use",
};

/** Renders `script` as a Messages answer and as its events. */
export function renderMessages(
  script: StrictScript,
  { ids, ask }: StrictContext,
): StrictRendering {
  const named = {
    id: ids.next("msg"),
    type: "message",
    role: "assistant",
    model: ask.model,
  };
  const blocks = script.blocks.map((block) => contentBlock(block, ids));
  const content = blocks.map(({ whole }) => whole);
  const stop = {
    stop_reason: STOP_REASONS[script.stop.reason],
    stop_sequence: script.stop.sequence ?? null,
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
        ...blocks.flatMap(blockSteps),
        writeEvent({
          type: "message_delta",
          delta: stop,
          usage: { output_tokens },
        }),
        writeEvent({ type: "message_stop" }),
      ],
      failure: () => [
        writeEvent({ type: "error", error: messagesError(OVERLOADED) }),
      ],
    },
  };
}

function contentBlock(block: ScriptBlock, ids: Ids): ContentBlock {
  switch (block.kind) {
    case "reasoning": {
      const thinking = block.isShown ? block.text : "";
      const signature = seal(block.text);
      return {
        whole: { type: "thinking", thinking, signature },
        opening: { type: "thinking", thinking: "", signature: "" },
        deltas: () => [
          ...wordsOf(thinking)
            .map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature },
        ],
      };
    }
    case "call": {
      const parsed = parseJson(block.input);
      const input = isJsonObject(parsed) ? parsed : {};
      const call = {
        type: "tool_use",
        id: ids.next("toolu"),
        name: block.tool.name,
      };
      return {
        whole: { ...call, input },
        opening: { ...call, input: {} },
        deltas: () =>
          fragmentsOf(JSON.stringify(input))
            .map((partial_json) => ({
              type: "input_json_delta",
              partial_json,
            })),
      };
    }
    case "text":
    case "compaction":
      return {
        whole: { type: "text", text: block.text },
        opening: { type: "text", text: "" },
        deltas: () =>
          wordsOf(block.text).map((text) => ({ type: "text_delta", text })),
      };
  }
}

/** Returns usage in the Messages shape: the input excludes cached tokens, unlike in the other two protocols. */
function messagesUsage(usage: Usage) {
  return {
    input_tokens: usage.inputTokens - (usage.cachedInputTokens ?? 0),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedInputTokens ?? 0,
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
      content_block: block.opening,
    }),
    ...block.deltas().map((delta) =>
      writeEvent({ type: "content_block_delta", index, delta }, 1)
    ),
    writeEvent({ type: "content_block_stop", index }),
  ];
}
