import type { JsonObject } from "@gateway/base/json";
import type { Answer } from "../../canonical/answer/answer.ts";
import { unfoldAnswer } from "../../canonical/answer/fold.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import { createWholeBlock } from "../stream/content_block.ts";
import { ContentWriter, messageHead } from "../stream/encode.ts";

/** Returns an answer as JSON, built by the stream encoder. */
export function encodeAnswer(
  answer: Answer,
  context: AnswerContext,
): JsonObject {
  const content: JsonObject[] = [];
  const writer = new ContentWriter(
    context,
    () => createWholeBlock(content, (part) => context.drop(part)),
  );
  unfoldAnswer(answer, (event) => writer.push(event, () => {}));
  return {
    ...messageHead(answer.id, context),
    content,
    ...writer.stopOf(answer),
    ...(answer.providerMetadata?.messages ?? {}),
    usage: writer.usageOf(answer),
  };
}
