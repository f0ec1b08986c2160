import type { AnswerBlock } from "../canonical/answer/block.ts";
import type { CallerCodec } from "../canonical/codec.ts";
import type { AnswerEvent } from "../canonical/stream/event.ts";
import { chatCodec } from "../chat/mod.ts";
import { responsesCodec } from "../responses/mod.ts";
import { decodeRequest } from "./request.ts";

/**
 * Callers who send the body of a Responses request to the path of Chat Completions and read an answer of Chat
 * Completions. Cursor does with its own OpenAI models behind a base URL of the user's
 * (forum.cursor.com/t/153019, forum.cursor.com/t/159298). Only callers speak it.
 *
 * A call of a custom tool is told as the call of a function whose arguments are the text itself: Cursor looks for
 * `function.name` in every call and gives `arguments` to the tool as they are
 * (github.com/icebear0828/codex-proxy/pull/708).
 */
export const responsesInChatCodec: CallerCodec = {
  protocol: "chat",
  fieldNames: responsesCodec.fieldNames,
  ...(responsesCodec.otherNames && { otherNames: responsesCodec.otherNames }),
  decodeRequest,
  encodeAnswer: (answer, context) =>
    chatCodec.encodeAnswer(
      { ...answer, blocks: answer.blocks.map(asFunction) },
      context,
    ),
  createStreamEncoder(context) {
    const chat = chatCodec.createStreamEncoder(context);
    return {
      push: (event, emit) => chat.push(beginAsFunction(event), emit),
      end: (emit) => chat.end(emit),
      keepAlive: (emit) => chat.keepAlive(emit),
    };
  },
  encodeFailure: chatCodec.encodeFailure,
};

function asFunction(block: AnswerBlock): AnswerBlock {
  if (block.kind !== "custom_call") return block;
  const { input, ...rest } = block;
  return { ...rest, kind: "function_call", arguments: input };
}

function beginAsFunction(event: AnswerEvent): AnswerEvent {
  if (event.type !== "block-start" || event.block.kind !== "custom_call") {
    return event;
  }
  return { ...event, block: { ...event.block, kind: "function_call" } };
}
