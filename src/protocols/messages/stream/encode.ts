import type { SseFrame } from "../../../core/frame.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import type { AnswerContext, StreamEncoder } from "../../canonical/codec.ts";
import type { EndEvent, StartEvent } from "../../canonical/stream/event.ts";
import { sequenced } from "../../canonical/stream/sequence.ts";
import { estimateUsage } from "../../canonical/answer/answer.ts";
import { encodeServiceTier, messageHead } from "../answer/encode.ts";
import { type BlockWriter, createBlockWriter } from "./block_writer.ts";
import {
  asStreamError,
  type Failure,
} from "../../canonical/failure/failure.ts";
import { errorObject } from "../errors.ts";
import { createAnswerIds } from "../tools/tool_call_ids.ts";
import { searchUsage } from "../tools/web_search.ts";
import { encodeStop, joinRefusal } from "../answer/stop.ts";
import { encodeUsage } from "../answer/usage.ts";

/** Encodes a Messages stream, which has one block open at a time. */
export function createStreamEncoder(context: AnswerContext): StreamEncoder {
  return sequenced(createEncoder(context));
}

function createEncoder(context: AnswerContext): StreamEncoder {
  let nextIndex = 0;
  let writer: BlockWriter | undefined;
  /** The number of characters of the answer, for providers that do not count tokens. */
  let length = 0;
  let searches = 0;
  let isRefusal = false;
  let refusal = "";
  const options = {
    context,
    takeIndex: () => nextIndex++,
    idFor: createAnswerIds(context.request),
  };

  function end(event: EndEvent, emit: Emit<SseFrame>): void {
    const usage = event.usage ??
      estimateUsage(context.estimatedInputTokens, length);
    write("message_delta", {
      ...splitMetadata(event, encodeStop(event.stop, refusal)),
      usage: {
        ...searchUsage(searches),
        ...encodeUsage(usage),
        ...encodeServiceTier(event.serviceTier),
      },
    }, emit);
    write("message_stop", {}, emit);
  }

  return {
    push(event, emit) {
      switch (event.type) {
        case "start":
          return write("message_start", messageStart(event, context), emit);
        case "block-start":
          isRefusal = event.block.kind === "refusal";
          if (
            event.block.kind === "opaque" && event.block.search !== undefined
          ) {
            searches++;
          }
          writer = createBlockWriter(event.block, options, emit);
          return;
        case "block-delta":
          length += event.text.length;
          if (isRefusal) refusal = joinRefusal(refusal, event.text);
          return writer?.push(event, emit);
        case "end":
          return end(event, emit);
        case "failure":
          return write("error", errorEvent(event.failure, context), emit);
        default:
          return writer?.push(event, emit);
      }
    },
    end() {},
    keepAlive: (emit) => emit({ event: "ping", data: `{"type":"ping"}` }),
  };
}

/**
 * Returns the error event, with the request id in Anthropic's field. Without it, Qwen Code does not continue after an
 * error in the middle of an answer (https://github.com/QwenLM/qwen-code/pull/11291).
 */
function errorEvent(
  failure: Failure,
  { requestId }: AnswerContext,
): JsonObject {
  return { error: errorObject(asStreamError(failure)), request_id: requestId };
}

/**
 * Returns the first event. Clients show its prompt size, so it is estimated instead of 0. The last event has the actual
 * one.
 */
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

/** Splits the metadata. A container belongs in the delta, and the other fields beside it. */
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
