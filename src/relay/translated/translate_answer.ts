import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { isEventStream, isJson } from "../../upstream/media_type.ts";
import { streamAnswer } from "./stream_answer.ts";
import {
  headersOf,
  plainContextOf,
  type TranslateAnswerOptions,
} from "./answer_context.ts";
import { createTranslatedWatch, noteWhole } from "./answer_watch.ts";
import type { WrittenAnswer } from "./answer_job.ts";
import { foldAnswer, readAnswer, type WholeAnswer } from "./whole_answer.ts";

/**
 * Gives an upstream's answer to the caller in the caller's protocol, as a stream or as one object, whichever
 * the caller asked for and whichever the upstream sent. Finishes the record when the answer ends.
 *
 * A stream's status and headers go out with its first output, so that a failure before it is an error like
 * any other.
 *
 * @throws {UpstreamFailure} When the upstream fails before anything went out.
 * @throws {GatewayError} When its answer breaks off, is silent or too long before anything went out, or cannot be
 * translated now.
 */
export async function translateAnswer(
  answer: UpstreamAnswer,
  options: TranslateAnswerOptions,
): Promise<Response> {
  const { attempt: { exchange, deployment }, services, translated } = options;
  const watchOptions = {
    record: exchange.record,
    seals: services.seals,
    callerSha256: exchange.caller.sha256,
    connectionId: deployment.connection.id,
  };
  const isStream = isStreamed(answer, translated.stream);
  if (translated.request.stream && isStream && answer.body !== null) {
    const watch = createTranslatedWatch({
      ...watchOptions,
      idFor: options.from.createAnswerIds?.(translated.request),
    });
    return await streamAnswer(answer.body, { ...options, watch });
  }
  const whole = isStream
    ? await foldAnswer(answer, options)
    : await readAnswer(answer, options);
  const written = await write(whole, options);
  noteWhole(written, watchOptions);
  return respond(written, options);
}

/** Some upstreams stream without saying so; what is no JSON then can be read as nothing else. */
function isStreamed({ headers }: UpstreamAnswer, asked: boolean): boolean {
  const type = headers.get("content-type") ?? "";
  return isEventStream(type) || asked && !isJson(type);
}

function write(
  { answer, length }: WholeAnswer,
  options: TranslateAnswerOptions,
): Promise<WrittenAnswer> {
  const { attempt, to } = options;
  const { operation, bodyProtocol, memory, controller } = attempt;
  const job = {
    ...plainContextOf(options),
    answer,
    operation,
    bodyProtocol,
    to: to.protocol,
    aliases: options.translated.aliases,
    cuts: options.translated.cuts,
  };
  const { signal } = controller;
  return options.services.translation.answer(job, length, { memory, signal });
}

/** One object, or one short stream of it for a caller who asked for events. */
function respond(
  { bytes }: WrittenAnswer,
  options: TranslateAnswerOptions,
): Response {
  const { attempt: { exchange: { record } }, translated } = options;
  record.facts.status = 200;
  record.facts.bytesOut = bytes.length;
  record.finish("complete");
  const type = translated.request.stream
    ? "text/event-stream"
    : "application/json";
  return new Response(bytes, { headers: headersOf(options, type) });
}
