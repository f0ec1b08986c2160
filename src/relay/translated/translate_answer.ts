import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { abandon } from "../../streams/discard.ts";
import {
  type ByteReader,
  createLookAhead,
  type LookAhead,
} from "../../streams/look_ahead.ts";
import { bodyKind, isEventStream, isJson } from "../../streams/media_type.ts";
import { failedReading } from "../../upstream/failure.ts";
import { firstOutputRestMs } from "../attempt.ts";
import { holdBack } from "../hold_back.ts";
import { openBody, TRANSLATED_BYTES } from "../open_body.ts";
import { streamAnswer } from "./stream_answer.ts";
import {
  headersOf,
  plainContextOf,
  type TranslateAnswerOptions,
} from "./answer_context.ts";
import { createTranslatedWatch, noteWhole } from "./answer_watch.ts";
import type { WrittenAnswer } from "./answer_job.ts";
import {
  foldAnswer,
  readAnswer,
  readSeen,
  type WholeAnswer,
} from "./whole_answer.ts";

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
    translated,
    reasoningField: options.from.fieldNames.sealedReasoning,
  };
  const read = await readAsAsked(answer, options);
  if ("events" in read) {
    const watch = createTranslatedWatch({
      ...watchOptions,
      idFor: options.from.createAnswerIds?.(translated.request),
    });
    return await streamAnswer(read.events, { ...options, watch });
  }
  const written = await write(read, options);
  noteWhole(written, watchOptions);
  return respond(written, options);
}

/** Reads an answer whole, or not at all where it is events and the caller wants some. */
async function readAsAsked(
  answer: UpstreamAnswer,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer | { readonly events: ByteReader }> {
  const { translated } = options;
  const { body } = answer;
  if (body === null || !translated.request.stream) {
    return await readWhole(answer, options);
  }
  const events = openTranslated(body, options);
  if (!isJson(typeOf(answer))) return { events };
  const source = createLookAhead(events);
  return await holdsEvents(source, options)
    ? { events: source }
    : await readSeen(source, options);
}

function openTranslated(
  body: ReadableStream<Uint8Array>,
  { attempt, services: { deadlines } }: TranslateAnswerOptions,
): ByteReader {
  return openBody(body, attempt, { deadlines, mostBytes: TRANSLATED_BYTES });
}

function typeOf({ headers }: UpstreamAnswer): string {
  return headers.get("content-type") ?? "";
}

/** Reads an answer for a caller who wants one object. Some upstreams stream without saying so. */
function readWhole(
  answer: UpstreamAnswer,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { translated } = options;
  const type = typeOf(answer);
  const isStream = isEventStream(type) || translated.stream && !isJson(type);
  return isStream && answer.body !== null
    ? foldAnswer(openTranslated(answer.body, options), options)
    : readAnswer(answer, options);
}

/** Whether a body that is labelled as JSON begins as events do; the label counts while it is silent. */
async function holdsEvents(
  source: LookAhead,
  { attempt, services: { deadlines } }: TranslateAnswerOptions,
): Promise<boolean> {
  try {
    const seen = await holdBack(source, {
      judge: {
        push(chunk) {
          const kind = bodyKind(chunk);
          return kind && { kind };
        },
        end: () => ({ kind: "json" }),
      },
      deadlines,
      outputMs: firstOutputRestMs(attempt, deadlines),
    });
    return seen?.kind === "events";
  } catch (cause) {
    abandon(source);
    throw failedReading(cause, attempt.controller.signal);
  }
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
    bound: options.translated.bound,
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
