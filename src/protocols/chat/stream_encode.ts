import type { SseFrame } from "../../core/frame.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { isJsonObject } from "../../core/json.ts";
import type { Emit } from "../../core/stage.ts";
import type { AnswerContext, StreamEncoder } from "../canonical/codec.ts";
import type {
  AnswerEvent,
  BlockDeltaEvent,
  BlockHead,
  BlockStartEvent,
  EndEvent,
  StartEvent,
} from "../canonical/event.ts";
import { answerId, createdSeconds, PARAGRAPH } from "./answer_encode.ts";
import { encodeCitation } from "./citation.ts";
import { errorObject } from "./failure.ts";
import { detailsForCaller } from "./reasoning_details.ts";
import { encodeStop } from "./stop.ts";
import { encodeUsage } from "./usage.ts";

/** What is known of a block while its deltas come. */
interface OpenBlock {
  readonly kind: BlockHead["kind"];
  /** Among the answer's tool calls, from 0; -1 for another block. */
  readonly call: number;
  /** Whether anything of it has been written. */
  hasText: boolean;
}

/**
 * Writes a Chat Completions stream. Usage comes in a chunk of its own, and only where the caller asked for it
 * with `stream_options.include_usage`, since some clients choke on a chunk without choices.
 */
export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  const wantsUsage = asksForUsage(context);
  const blocks: (OpenBlock | undefined)[] = [];
  let head = "";
  let tail = "";
  let nextCall = 0;
  let hasText = false;
  let hasReasoning = false;
  /** Whether a part of reasoning has begun after another. */
  let isNextPart = false;
  let hasRefusal = false;
  /** Whether something other than text stood since the last text. */
  let isApart = false;

  function writeChunk(delta: string, emit: Emit<SseFrame>): void {
    emit({ data: head + delta + tail });
  }

  function start(event: StartEvent, emit: Emit<SseFrame>): void {
    const chunk = JSON.stringify({
      id: answerId(event.id, context),
      object: "chat.completion.chunk",
      created: createdSeconds(event.createdAtMs, context),
      model: context.model,
    });
    const usage = wantsUsage ? `,"usage":null` : "";
    head = `${chunk.slice(0, -1)},"choices":[{"index":0,"delta":`;
    tail = `,"logprobs":null,"finish_reason":null}]${usage}}`;
    writeChunk(`{"role":"assistant","content":"","refusal":null}`, emit);
  }

  function startBlock(
    { index, block }: BlockStartEvent,
    emit: Emit<SseFrame>,
  ): void {
    const isCall = block.kind === "function_call" ||
      block.kind === "custom_call";
    blocks[index] = {
      kind: block.kind,
      call: isCall ? nextCall : -1,
      hasText: false,
    };
    if (block.kind !== "text") isApart = true;
    if (isCall) {
      writeChunk(
        JSON.stringify({ tool_calls: [callHead(block, nextCall++)] }),
        emit,
      );
    } else if (block.kind === "opaque") {
      context.drop(block.type);
    }
  }

  function writeDelta(
    { index, text }: BlockDeltaEvent,
    emit: Emit<SseFrame>,
  ): void {
    const block = blocks[index];
    if (block === undefined) return;
    const isFirst = !block.hasText;
    block.hasText = true;
    switch (block.kind) {
      case "text":
        writeChunk(
          `{"content":${JSON.stringify(isFirst ? paragraph(text) : text)}}`,
          emit,
        );
        break;
      case "reasoning":
        writeChunk(
          `{"reasoning_content":${
            JSON.stringify(isNextPart ? PARAGRAPH + text : text)
          }}`,
          emit,
        );
        hasReasoning = true;
        isNextPart = false;
        break;
      case "refusal":
        hasRefusal = true;
        writeChunk(`{"refusal":${JSON.stringify(text)}}`, emit);
        break;
      case "function_call":
        writeChunk(
          `{"tool_calls":[{"index":${block.call},"function":{"arguments":${
            JSON.stringify(text)
          }}}]}`,
          emit,
        );
        break;
      case "custom_call":
        writeChunk(
          `{"tool_calls":[{"index":${block.call},"custom":{"input":${
            JSON.stringify(text)
          }}}]}`,
          emit,
        );
        break;
    }
  }

  /** The first text of a block, apart from an earlier text that something else separates. */
  function paragraph(text: string): string {
    const apart = hasText && isApart ? PARAGRAPH + text : text;
    hasText = true;
    isApart = false;
    return apart;
  }

  function endBlock(index: number, emit: Emit<SseFrame>): void {
    const block = blocks[index];
    blocks[index] = undefined;
    if (block?.kind === "function_call" && !block.hasText) {
      writeChunk(
        `{"tool_calls":[{"index":${block.call},"function":{"arguments":"{}"}}]}`,
        emit,
      );
    }
  }

  function end(event: EndEvent, emit: Emit<SseFrame>): void {
    const { explanation } = event.stop;
    if (explanation !== undefined && !hasRefusal) {
      writeChunk(JSON.stringify({ refusal: explanation }), emit);
    }
    const reason = JSON.stringify(encodeStop(event.stop));
    emit({
      data: `${head}{}${
        tail.replace(`"finish_reason":null`, `"finish_reason":${reason}`)
      }`,
    });
    if (wantsUsage && event.usage !== undefined) {
      const start = head.slice(0, head.indexOf(`"choices":`));
      emit({
        data: `${start}"choices":[],"usage":${
          JSON.stringify(encodeUsage(event.usage))
        }}`,
      });
    }
    emit({ data: "[DONE]" });
  }

  return {
    push(event: AnswerEvent, emit) {
      switch (event.type) {
        case "block-delta":
          return writeDelta(event, emit);
        case "start":
          return start(event, emit);
        case "block-start":
          return startBlock(event, emit);
        case "block-part":
          isNextPart = hasReasoning;
          return;
        case "block-citation": {
          const annotation = encodeCitation(event.citation);
          if (annotation === undefined) return context.drop("citation");
          return writeChunk(
            JSON.stringify({ annotations: [annotation] }),
            emit,
          );
        }
        case "block-seal": {
          const details: JsonValue[] = detailsForCaller(
            event.sealed,
            context.connectionId,
          );
          return writeChunk(
            JSON.stringify({ reasoning_details: details }),
            emit,
          );
        }
        case "block-end":
          return endBlock(event.index, emit);
        case "end":
          return end(event, emit);
        case "failure":
          return emit({
            event: "error",
            data: JSON.stringify({ error: errorObject(event.failure) }),
          });
      }
    },
    end() {},
    keepAlive: (emit) => emit({ comment: "keep-alive" }),
  };
}

function asksForUsage(context: AnswerContext): boolean {
  const options = context.request.extras.chat?.stream_options?.value;
  return isJsonObject(options) && options.include_usage === true;
}

/** The first piece of a call: everything but its arguments. */
function callHead(
  block: Extract<BlockHead, { kind: "function_call" | "custom_call" }>,
  index: number,
): JsonObject {
  const { id, name } = block;
  if (block.kind === "custom_call") {
    return { index, id, type: "custom", custom: { name, input: "" } };
  }
  return { index, id, type: "function", function: { name, arguments: "" } };
}
