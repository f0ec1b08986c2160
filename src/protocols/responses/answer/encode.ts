import type { JsonObject } from "../../../core/json.ts";
import type { Answer } from "../../canonical/answer/answer.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import { unfoldAnswer } from "../../canonical/answer/fold.ts";
import { estimateUsage } from "../../canonical/answer/usage.ts";
import { discardingWriter } from "../stream/item_writer.ts";
import { createOutputWriter } from "./output_writer.ts";
import { identityOf, responseObject } from "./response_object.ts";
import { encodeStop } from "./stop.ts";
import { encodeUsage } from "./usage.ts";

/** Writes a JSON answer, by the same code as a stream. */
export function encodeAnswer(
  answer: Answer,
  context: AnswerContext,
): JsonObject {
  const output = createOutputWriter(context, discardingWriter);
  unfoldAnswer(answer, (event) => output.push(event));
  output.finish(answer.stop);
  return responseObject(identityOf(answer, context), context, {
    ...finalFields(answer, context, output.written),
    output: output.items,
  });
}

/**
 * The fields of a response object that stand only at its end.
 *
 * @param written How much the model wrote, in characters, for upstreams that do not count.
 */
export function finalFields(
  { stop, usage, serviceTier }: Pick<Answer, "stop" | "usage" | "serviceTier">,
  { estimatedInputTokens, now, nowMs }: AnswerContext,
  written: number,
): JsonObject {
  const ending = encodeStop(stop);
  const isCompleted = ending.status === "completed";
  return {
    ...ending,
    completed_at: isCompleted ? Math.floor((now?.() ?? nowMs) / 1000) : null,
    usage: encodeUsage(
      usage ?? estimateUsage(estimatedInputTokens, written),
    ),
    ...(serviceTier?.protocol === "responses"
      ? { service_tier: serviceTier.value }
      : {}),
  };
}
