import {
  type AnyResponse,
  DirectResponse,
  type HttpResponse,
} from "@gateway/http1";
import { LoopTurns } from "@gateway/base/time/turns";
import { type AnswerJob, openFold, type WrittenAnswer } from "@gateway/codecs";
import {
  abandon,
  type ByteReader,
  type ByteSource,
  createByteReader,
  createLookAhead,
  type LookAhead,
  readAll,
} from "@gateway/base/streams/byte_reader";
import {
  bodyKind,
  isEventStream,
  isJson,
} from "@gateway/base/streams/media_type";
import { failedReading, oversized } from "../../upstream/failure.ts";
import { readResponseBytes } from "../../upstream/read_response.ts";
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
import { streamAnswer } from "./stream_answer.ts";

/**
 * Sends an upstream's answer to the caller in the caller's protocol. The caller's request decides between a stream and
 * one object, independently of the upstream's form.
 *
 * A stream's status and headers are sent with its first output, so that an earlier failure gets a normal error
 * response.
 *
 * @throws {UpstreamFailure} When the upstream fails before anything was sent.
 * @throws {GatewayError} When its answer breaks off, exceeds a timeout or is too long before anything was sent, or when
 * no thread can translate it now.
 */
export async function translateAnswer(
  response: HttpResponse,
  options: TranslateAnswerOptions,
): Promise<AnyResponse> {
  const { attempt: { exchange }, services, translated } = options;
  const watchOptions = {
    record: exchange.record,
    reasoningMemory: services.reasoningMemory,
    callerSha256: exchange.caller.sha256,
    translated,
    reasoningField: options.from.fieldNames.sealedReasoning,
  };
  const read = await readForCaller(response, options);
  if ("events" in read) {
    const watch = createTranslatedWatch(watchOptions);
    return await streamAnswer(read.events, { ...options, watch });
  }
  const written = await write(read, options);
  noteWhole(written, watchOptions);
  return respond(written, options);
}

/** Reads a whole answer, or opens it as events if it has them and the caller wants a stream. */
async function readForCaller(
  response: HttpResponse,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer | { readonly events: ByteReader }> {
  const { translated } = options;
  const { body } = response;
  if (body === null || !translated.request.stream) {
    return await readWhole(response, options);
  }
  const events = openTranslated(body, options);
  if (!isJson(typeOf(response))) return { events };
  const source = createLookAhead(events);
  return await holdsEvents(source, options)
    ? { events: source }
    : await readSeen(source, options);
}

function openTranslated(
  body: ByteSource,
  { attempt, services: { deadlines } }: TranslateAnswerOptions,
): ByteReader {
  return openBody(body, attempt, {
    deadlines,
    maxChunkBytes: TRANSLATED_BYTES,
  });
}

function typeOf({ headers }: HttpResponse): string {
  return headers.get("content-type") ?? "";
}

/** Reads an answer for a caller who wants one object. Some upstreams stream without declaring it. */
function readWhole(
  response: HttpResponse,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { translated } = options;
  const type = typeOf(response);
  const isStream = isEventStream(type) || translated.stream && !isJson(type);
  return isStream && response.body !== null
    ? foldAnswer(openTranslated(response.body, options), options)
    : readAnswer(response, options);
}

/**
 * Returns true when a body with a JSON content type begins with events. If no byte arrives in time, the content type
 * decides.
 */
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
    to,
    aliases: options.translated.aliases,
    cuts: options.translated.cuts,
    isTagged: options.translated.isTagged,
    bound: options.translated.bound,
  };
  const { signal } = controller;
  return options.services.translation.answer(job, length, { memory, signal });
}

/** Creates the response: one object, or a short stream for a caller who requested one. */
function respond(
  { bytes }: WrittenAnswer,
  options: TranslateAnswerOptions,
): AnyResponse {
  const { attempt, translated } = options;
  const { record } = attempt.exchange;
  record.facts.status = 200;
  record.facts.bytesOut = bytes.length;
  const type = translated.request.stream
    ? "text/event-stream"
    : "application/json";
  return new DirectResponse(bytes, { headers: headersOf(options, type) });
}

/** The maximum length of a whole answer, in bytes; images in base64 fit. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** An upstream's answer, as bytes or decoded from its stream, and its length in bytes. */
interface WholeAnswer {
  readonly answer: AnswerJob["answer"];
  readonly length: number;
}

/** Reads a streamed answer for a caller who wants one object. */
async function foldAnswer(
  reader: ByteReader,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const fold = openFold(options.to, options.services.ids);
  let bytes = 0;
  return await failing(options, async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { answer: fold.end(), length: bytes };
      bytes += value.length;
      if (bytes > MAX_ANSWER_BYTES) throw oversized();
      fold.push(value);
    }
  });
}

/** Reads an answer that is one object. */
async function readAnswer(
  response: HttpResponse,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { attempt: { controller, deployment }, services } = options;
  const turns = new LoopTurns();
  const bytes = await readResponseBytes(response, {
    maxBytes: MAX_ANSWER_BYTES,
    deadlines: services.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  if (bytes === undefined) throw oversized();
  // Joining, masking and scanning 64 MiB takes some 50 ms each.
  turns.count(bytes.length);
  await turns.next();
  secretsOf(deployment.connection).coverIn(bytes);
  turns.count(bytes.length);
  await turns.next();
  return await wholeOf(bytes, options);
}

/** Reads the rest of an answer whose beginning was read ahead. */
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

/** Reads events as such, even if the content type is JSON. */
async function wholeOf(
  bytes: Uint8Array<ArrayBuffer>,
  options: TranslateAnswerOptions,
): Promise<WholeAnswer> {
  const { length } = bytes;
  if (bodyKind(bytes) !== "events") return { answer: bytes, length };
  const events = ReadableStream.from([bytes]);
  const maxChunkBytes = TRANSLATED_BYTES;
  return await foldAnswer(createByteReader(events, { maxChunkBytes }), options);
}

/** Aborts the attempt when the reading fails. */
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
