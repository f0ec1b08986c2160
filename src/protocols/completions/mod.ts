import type { Emit } from "../../core/stage.ts";
import type { SseComment, SseFrame } from "../../core/frame.ts";
import type { CallerCodec, StreamEncoder } from "../canonical/codec.ts";
import { chatCodec } from "../chat/mod.ts";
import { completionFrameOf, completionOf } from "./answer.ts";
import { chatRequestOf } from "./request.ts";

/**
 * Legacy completions for callers whose model has a chat interface alone: a prompt is one message of the user,
 * an answer is its text. Only callers speak it, so there is nothing to read of an upstream.
 */
export const completionsCodec: CallerCodec = {
  protocol: "chat",
  fieldNames: {
    ...chatCodec.fieldNames,
    messages: "prompt",
    maxOutputTokens: "max_tokens",
  },
  decodeRequest: (body) => chatCodec.decodeRequest(chatRequestOf(body)),
  encodeAnswer: (answer, context) =>
    completionOf(chatCodec.encodeAnswer(answer, context)),
  createStreamEncoder(context) {
    return respelling(chatCodec.createStreamEncoder(context));
  },
  encodeFailure: chatCodec.encodeFailure,
};

function respelling(chat: StreamEncoder): StreamEncoder {
  const respell = (emit: Emit<SseFrame>): Emit<SseFrame> => (frame) => {
    const completion = completionFrameOf(frame);
    if (completion !== undefined) emit(completion);
  };
  return {
    push: (event, emit) => chat.push(event, respell(emit)),
    end: (emit) => chat.end(respell(emit)),
    keepAlive: (emit: Emit<SseFrame | SseComment>) => chat.keepAlive(emit),
  };
}
