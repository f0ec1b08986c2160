import type { SseFrame } from "@gateway/base/frame";
import type { JsonObject } from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import type { AnswerContext, StreamEncoder } from "../../canonical/codec.ts";
import type {
  AnswerEvent,
  EndEvent,
  StartEvent,
} from "../../canonical/stream/event.ts";
import { sequenced } from "../../canonical/stream/sequence.ts";
import { type Answer, estimateUsage } from "../../canonical/answer/answer.ts";
import {
  type BlockWriter,
  type BlockWriterOptions,
  createBlockWriter,
} from "./block_writer.ts";
import { type ContentBlock, createStreamedBlock } from "./content_block.ts";
import {
  asStreamError,
  type Failure,
} from "../../canonical/failure/failure.ts";
import { errorObject } from "../errors.ts";
import { createAnswerIds } from "../../canonical/tools/tool_call_id.ts";
import { searchUsage } from "../tools/web_search.ts";
import { encodeStop, joinRefusal } from "../answer/stop.ts";
import { encodeUsage } from "../answer/usage.ts";

/** Encodes a Messages stream, which has one block open at a time. */
export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  return sequenced(createEncoder(context));
}

function createEncoder(context: AnswerContext): StreamEncoder {
  let nextIndex = 0;
  const content = new ContentWriter(
    context,
    () => createStreamedBlock(() => nextIndex++),
  );
  return {
    push(event, emit) {
      switch (event.type) {
        case "start":
          return write("message_start", messageStart(event, context), emit);
        case "end":
          write("message_delta", {
            ...splitMetadata(event, content.stopOf(event)),
            usage: content.usageOf(event),
          }, emit);
          return write("message_stop", {}, emit);
        case "failure":
          return write("error", errorEvent(event.failure, context), emit);
        default:
          return content.push(event, emit);
      }
    },
    end() {},
    keepAlive: (emit) => emit({ event: "ping", data: `{"type":"ping"}` }),
  };
}

/** Writes the blocks of an answer, and collects the facts for its end. */
export class ContentWriter {
  readonly #options: BlockWriterOptions;
  #writer: BlockWriter | undefined;
  /** The number of characters of the answer, for providers that do not count tokens. */
  #length = 0;
  #searches = 0;
  #isRefusal = false;
  #refusal = "";

  /** @param createBlock Creates a block that has not begun. */
  constructor(context: AnswerContext, createBlock: () => ContentBlock) {
    const idFor = createAnswerIds(context.request);
    this.#options = { context, createBlock, idFor };
  }

  /** Writes an event of a block, and ignores other events. Only one block may be open at a time. */
  push(event: AnswerEvent, emit: Emit<SseFrame>): void {
    if (event.type === "block-start") {
      const { block } = event;
      this.#isRefusal = block.kind === "refusal";
      if (block.kind === "opaque" && block.search !== undefined) {
        this.#searches++;
      }
      this.#writer = createBlockWriter(block, this.#options, emit);
      return;
    }
    if (event.type === "block-delta") {
      this.#length += event.text.length;
      if (this.#isRefusal) {
        this.#refusal = joinRefusal(this.#refusal, event.text);
      }
    }
    this.#writer?.push(event, emit);
  }

  /** Returns the fields about the end of the answer. */
  stopOf({ stop }: Pick<Answer, "stop">): JsonObject {
    return encodeStop(stop, this.#refusal);
  }

  /** Returns the `usage` of the answer. */
  usageOf(
    { usage, serviceTier }: Pick<Answer, "usage" | "serviceTier">,
  ): JsonObject {
    const { estimatedInputTokens } = this.#options.context;
    return {
      ...searchUsage(this.#searches),
      ...encodeUsage(
        usage ?? estimateUsage(estimatedInputTokens, this.#length),
      ),
      ...(serviceTier?.protocol === "messages"
        ? { service_tier: serviceTier.value }
        : {}),
    };
  }
}

/**
 * Returns the error event, with the request id in Anthropic's field. Without this id, Qwen Code does not continue after
 * an error in the middle of an answer (https://github.com/QwenLM/qwen-code/pull/11291).
 */
function errorEvent(
  failure: Failure,
  { requestId }: AnswerContext,
): JsonObject {
  return { error: errorObject(asStreamError(failure)), request_id: requestId };
}

/** Returns the first event. It has an estimate of the prompt's size, which clients show until the last event. */
function messageStart(event: StartEvent, context: AnswerContext): JsonObject {
  const usage = event.usage ?? estimateUsage(context.estimatedInputTokens, 0);
  return {
    message: {
      ...messageHead(event.id, context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: encodeUsage(usage),
    },
  };
}

/** Returns the fields of an answer before its content. */
export function messageHead(id: string, context: AnswerContext): JsonObject {
  return {
    id: messageId(id, context),
    type: "message",
    role: "assistant",
    model: context.model,
  };
}

/** Returns the provider's id with the prefix that clients expect, or a new id when the provider gave none. */
function messageId(id: string, context: AnswerContext): string {
  if (id === "") return context.ids.next("msg");
  return id.startsWith("msg_") ? id : `msg_${id}`;
}

/** Splits the metadata of the end. The container goes into the `delta`, and other fields go beside the `delta`. */
function splitMetadata(event: EndEvent, stop: JsonObject): JsonObject {
  const { container, ...others } = event.providerMetadata?.messages ?? {};
  return {
    delta: container === undefined ? stop : { ...stop, container },
    ...others,
  };
}

function write(type: string, fields: JsonObject, emit: Emit<SseFrame>): void {
  emit({ event: type, data: JSON.stringify({ type, ...fields }) });
}
