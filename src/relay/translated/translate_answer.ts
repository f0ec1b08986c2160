import { Turns } from "../../core/time/turns.ts";
import type { Answer } from "../../protocols/canonical/answer/answer.ts";
import { UpstreamFailure } from "../../protocols/canonical/failure/failure.ts";
import {
  type BodyFold,
  createBodyDecoder,
  createBodyFold,
} from "../../protocols/decode_body.ts";
import {
  abandon,
  type ByteReader,
  type ByteSource,
  createByteReader,
  createLookAhead,
  type LookAhead,
  readAll,
} from "../../streams/byte_reader.ts";
import { bodyKind, isEventStream, isJson } from "../../streams/media_type.ts";
import type { UpstreamAnswer } from "../../upstream/call.ts";
import { failedReading, oversized } from "../../upstream/failure.ts";
import { readAnswerBytes } from "../../upstream/read_answer.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { holdBack, openBody, TRANSLATED_BYTES } from "../answer_body.ts";
import { firstOutputRestMs } from "../attempt.ts";
import {
  createTranslatedWatch,
  headersOf,
  noteWhole,
  plainContextOf,
  type TranslateAnswerOptions,
} from "./answer_watch.ts";
import type { WrittenAnswer } from "./answer_job.ts";
import {
  EMPTY_ANSWER,
  MAX_EMPTY_BYTES,
  streamAnswer,
} from "./stream_answer.ts";

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
    reasoningStore: services.reasoningStore,
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
  body: ByteSource,
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

/** A whole answer longer than this is refused, in bytes; images in base64 fit. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** An upstream's answer, as its bytes or as what its stream told, and how many bytes it had. */
interface WholeAnswer {
  readonly answer: Uint8Array<ArrayBuffer> | Answer;
  readonly length: number;
}

/** Reads an answer that streams, for a caller who wants one object. */
async function foldAnswer(
  reader: ByteReader,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const fold = foldOf(options);
  let bytes = 0;
  let emptyBytes = 0;
  return await failing(options, async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { answer: fold.end(), length: bytes };
      bytes += value.length;
      if (bytes > MAX_ANSWER_BYTES) throw oversized();
      emptyBytes = fold.push(value) ? 0 : emptyBytes + value.length;
      if (emptyBytes > MAX_EMPTY_BYTES) throw new UpstreamFailure(EMPTY_ANSWER);
    }
  });
}

/** Reads an answer that is one object. */
async function readAnswer(
  answer: UpstreamAnswer,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { attempt: { controller, deployment }, services } = options;
  const turns = new Turns();
  const bytes = await readAnswerBytes(answer, {
    maxBytes: MAX_ANSWER_BYTES,
    deadlines: services.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  if (bytes === undefined) throw oversized();
  // To join, to cover and to look at 64 MiB takes some 50 ms each.
  turns.count(bytes.length);
  await turns.next();
  secretsOf(deployment.connection).coverIn(bytes);
  turns.count(bytes.length);
  await turns.next();
  return await wholeOf(bytes, options);
}

/** Reads such an answer from a reader that has seen its beginning. */
function readSeen(
  source: ByteReader,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  return failing(options, async () => {
    const bytes = await readAll(source, MAX_ANSWER_BYTES);
    if (bytes === undefined) throw oversized();
    return await wholeOf(bytes, options);
  });
}

/** Events that are labelled as one object are read as what they are. */
async function wholeOf(
  bytes: Uint8Array<ArrayBuffer>,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { length } = bytes;
  if (bodyKind(bytes) !== "events") return { answer: bytes, length };
  const events = ReadableStream.from([bytes]);
  const mostBytes = TRANSLATED_BYTES;
  return await foldAnswer(createByteReader(events, { mostBytes }), options);
}

function foldOf({ to, services }: TranslateAnswerOptions): BodyFold {
  return createBodyFold(createBodyDecoder(to, services.ids));
}

/** Ends the exchange when the reading fails. */
async function failing<Read>(
  { attempt: { controller } }: TranslateAnswerOptions,
  read: () => Promise<Read>,
): Promise<Read> {
  try {
    return await read();
  } catch (cause) {
    const failure = failedReading(cause, controller.signal);
    controller.abort(failure);
    throw failure;
  }
}
