import { byteLength } from "../core/byte_length.ts";
import { runStage } from "../core/stage.ts";
import type { Answer } from "../protocols/canonical/answer.ts";
import type { StreamEncoder } from "../protocols/canonical/codec.ts";
import type { AnswerEvent } from "../protocols/canonical/event.ts";
import { unfoldAnswer } from "../protocols/canonical/fold.ts";
import { restoreAnswer } from "../protocols/canonical/restore_tools.ts";
import { settleAnswerCalls } from "../protocols/canonical/settle_calls.ts";
import { formatFrame } from "../streams/sse_format.ts";
import { streamAnswer } from "./stream_answer.ts";
import {
  contextOf,
  headersOf,
  type TranslateAnswerOptions,
} from "./translated_context.ts";
import { createTranslatedWatch } from "./translated_watch.ts";
import { foldAnswer, readAnswer } from "./whole_answer.ts";

/**
 * Gives an upstream's answer to the caller in the caller's protocol, as a stream or as one object, whichever
 * the caller asked for and whichever the upstream sent. Finishes the record when the answer ends.
 *
 * A stream's status and headers go out with its first output, so that a failure before it is an error like
 * any other.
 *
 * @throws {UpstreamFailure} When the upstream fails before anything went out.
 * @throws {GatewayError} When its answer breaks off, is silent or too long before anything went out.
 */
export async function translateAnswer(
  answer: Response,
  options: TranslateAnswerOptions,
): Promise<Response> {
  const { attempt: { exchange, candidate }, tools, translated } = options;
  const watch = createTranslatedWatch({
    record: exchange.record,
    seals: tools.seals,
    callerSha256: exchange.caller.sha256,
    connectionId: candidate.connection.id,
    idFor: options.from.createAnswerIds?.(translated.request),
  });
  const isStream = isEventStream(answer, translated.body.stream === true);
  if (translated.request.stream && isStream && answer.body !== null) {
    return await streamAnswer(answer.body, { ...options, watch });
  }
  const read = isStream
    ? await foldAnswer(answer, options)
    : await readAnswer(answer, options);
  const whole = settleAnswerCalls(restoreAnswer(read, translated.aliases));
  unfoldAnswer(whole, watch.see);
  return writeAnswer(whole, options);
}

/** Some upstreams stream without saying so. */
function isEventStream({ headers }: Response, asked: boolean): boolean {
  const type = headers.get("content-type") ?? "";
  return /text\/event-stream/i.test(type) || asked && !/json/i.test(type);
}

/** One object, or one short stream of it for a caller who asked for events. */
function writeAnswer(
  answer: Answer,
  options: TranslateAnswerOptions,
): Response {
  const { attempt: { exchange: { record } }, from, translated } = options;
  const context = contextOf(options);
  const text = translated.request.stream
    ? streamText(answer, from.createStreamEncoder(context))
    : JSON.stringify(from.encodeAnswer(answer, context));
  record.facts.status = 200;
  record.facts.bytesOut = byteLength(text);
  record.finish("complete");
  const type = translated.request.stream
    ? "text/event-stream"
    : "application/json";
  return new Response(text, { headers: headersOf(options, type) });
}

function streamText(answer: Answer, encoder: StreamEncoder): string {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return runStage(encoder, events).map(formatFrame).join("");
}
