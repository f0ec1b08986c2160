import { GatewayError } from "../core/error.ts";
import { runStage } from "../core/stage.ts";
import type { Answer } from "../protocols/canonical/answer.ts";
import type {
  AnswerContext,
  CallerCodec,
  Codec,
  StreamEncoder,
} from "../protocols/canonical/codec.ts";
import type { AnswerEvent } from "../protocols/canonical/event.ts";
import {
  brokenAnswer,
  type Failure,
  UpstreamFailure,
} from "../protocols/canonical/failure.ts";
import { unfoldAnswer } from "../protocols/canonical/fold.ts";
import {
  restoreAnswer,
  restoreTools,
} from "../protocols/canonical/restore_tools.ts";
import { createStreamFold } from "../protocols/fold_stream.ts";
import type { TranslatedRequest } from "../protocols/translate_request.ts";
import { createTranslator } from "../protocols/translate_stream.ts";
import { formatFrame } from "../streams/sse_format.ts";
import { createIdleWatch } from "../streams/idle_watch.ts";
import {
  brokenUpstream,
  reasonOf,
  silentUpstream,
} from "../upstream/failure.ts";
import { readAnswerJson } from "../upstream/read_answer.ts";
import { type Attempt, firstOutputRestMs, standInHeader } from "./attempt.ts";
import type { RelayTools } from "./tools.ts";
import { createTranslatedStream } from "./translated_stream.ts";
import {
  createTranslatedWatch,
  type TranslatedWatch,
} from "./translated_watch.ts";

/** What an answer needs to get from the upstream's protocol to the caller's. */
export interface TranslateAnswerOptions {
  readonly attempt: Attempt;
  /** The caller's protocol. */
  readonly from: CallerCodec;
  /** The upstream's protocol. */
  readonly to: Codec;
  readonly translated: TranslatedRequest;
  readonly tools: Pick<RelayTools, "seals" | "deadlines" | "ids" | "clock">;
}

/** A whole answer longer than this is refused, in bytes; images in base64 fit. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Gives an upstream's answer to the caller in the caller's protocol, as a stream or as one object, whichever
 * the caller asked for and whichever the upstream sent. Finishes the record when the answer ends.
 *
 * A stream's status and headers go out with its first output, so that a failure before it is an error like
 * any other.
 *
 * @throws {UpstreamFailure} When the upstream fails before anything went out.
 * @throws {GatewayError} When its answer breaks off or is silent before anything went out.
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
  });
  const isStream = isEventStream(answer, translated.body.stream === true);
  if (translated.request.stream && isStream && answer.body !== null) {
    return await streamAnswer(answer.body, watch, options);
  }
  const whole = isStream
    ? await foldAnswer(answer, options)
    : await readAnswer(answer, options);
  unfoldAnswer(whole, watch.see);
  return writeAnswer(
    restoreAnswer(whole, translated.aliases),
    options,
  );
}

/** Some upstreams stream without saying so. */
function isEventStream({ headers }: Response, asked: boolean): boolean {
  const type = headers.get("content-type") ?? "";
  return /text\/event-stream/i.test(type) || asked && !/json/i.test(type);
}

async function streamAnswer(
  body: ReadableStream<Uint8Array>,
  watch: TranslatedWatch,
  options: TranslateAnswerOptions,
): Promise<Response> {
  const { attempt, from, to, translated, tools } = options;
  const { controller, exchange: { record } } = attempt;
  const { idleMs } = attempt.candidate.connection.timeouts;
  const noteChunk = record.watchChunks();
  const stream = createTranslatedStream(body, {
    translator: createTranslator({
      decoder: to.createStreamDecoder(tools.ids),
      between: translated.aliases.size === 0
        ? undefined
        : restoreTools(translated.aliases),
      encoder: from.createStreamEncoder(contextOf(options)),
      observe: watch.see,
    }),
    deadlines: tools.deadlines,
    idleMs,
    failureOf: (cause) => failureOfBreak(cause, controller),
    onText(text) {
      record.facts.bytesOut += byteLength(text);
      noteChunk?.();
    },
    onEnd(how) {
      if (watch.failure !== undefined) {
        record.facts.reason = watch.failure.kind;
      }
      record.finish(
        watch.isWhole
          ? "complete"
          : how === "cancelled"
          ? "client_abort"
          : "upstream_broken",
      );
      controller.abort();
    },
  });
  const outputMs = firstOutputRestMs(attempt, tools.deadlines);
  const isLate = await stream.hold(() => watch.hasOutput, outputMs);
  if (isLate && outputMs !== undefined) {
    stream.discard();
    throw silentUpstream();
  }
  if (watch.failure !== undefined && !watch.hasOutput) {
    stream.discard();
    if (controller.signal.aborted) throw controller.signal.reason;
    throw new UpstreamFailure(watch.failure);
  }
  record.facts.status = 200;
  return new Response(stream.body, {
    headers: headersOf(options, "text/event-stream"),
  });
}

/** Reads a stream whole, for a caller who wants one object. */
async function foldAnswer(
  answer: Response,
  { attempt: { controller, candidate }, to, tools }: TranslateAnswerOptions,
): Promise<Answer> {
  const fold = createStreamFold(to.createStreamDecoder(tools.ids));
  const idle = createIdleWatch({
    deadlines: tools.deadlines,
    idleMs: candidate.connection.timeouts.idleMs,
    onIdle: () => controller.abort(silentUpstream()),
  });
  const reader = answer.body?.getReader();
  let bytes = 0;
  try {
    for (;;) {
      idle.wait();
      const read = await reader?.read();
      idle.heard();
      if (read === undefined || read.done) return fold.end();
      bytes += read.value.length;
      if (bytes > MAX_ANSWER_BYTES) throw brokenUpstream("it is too long");
      fold.push(read.value);
    }
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason;
    controller.abort();
    const isTold = cause instanceof UpstreamFailure ||
      cause instanceof GatewayError;
    throw isTold ? cause : brokenUpstream(reasonOf(cause), cause);
  } finally {
    idle.stop();
  }
}

async function readAnswer(
  answer: Response,
  { attempt: { controller, candidate }, to, tools }: TranslateAnswerOptions,
): Promise<Answer> {
  const json = await readAnswerJson(answer, {
    maxBytes: MAX_ANSWER_BYTES,
    deadlines: tools.deadlines,
    withinMs: candidate.connection.timeouts.idleMs,
    controller,
  });
  if (json === undefined) throw brokenUpstream("it is not JSON");
  return to.decodeAnswer(json, tools.ids);
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

function contextOf(
  { attempt: { exchange, candidate }, translated, tools }:
    TranslateAnswerOptions,
): AnswerContext {
  const { facts } = exchange.record;
  return {
    ids: tools.ids,
    nowMs: tools.clock.now(),
    model: candidate.model.id,
    request: translated.request,
    estimatedInputTokens: Math.ceil(facts.bytesIn / BYTES_PER_TOKEN),
    connectionId: candidate.connection.id,
    drop(part) {
      facts.droppedParts = [...new Set([...facts.droppedParts ?? [], part])];
    },
  };
}

/** A rough figure for text in English; good enough for a number that the upstream corrects later. */
const BYTES_PER_TOKEN = 4;

function headersOf(
  { attempt, translated: { dropped } }: TranslateAnswerOptions,
  type: string,
): Record<string, string> {
  return {
    "content-type": type,
    ...Object.fromEntries(standInHeader(attempt)),
    ...(type === "text/event-stream" ? { "cache-control": "no-cache" } : {}),
    ...(dropped.size === 0
      ? {}
      : { "x-gateway-dropped": [...dropped].map(headerSafe).join(",") }),
  };
}

/** A caller's own field name could hold anything. */
function headerSafe(name: string): string {
  return name.slice(0, 64).replace(/[^\x21-\x7e]|,/g, "?");
}

function failureOfBreak(
  cause: unknown,
  { signal }: AbortController,
): Failure {
  if (signal.reason instanceof GatewayError) {
    return { kind: "overloaded", message: signal.reason.message };
  }
  return brokenAnswer(
    `The model's provider broke off: ${reasonOf(cause)}. Try again`,
  );
}

const encoder = new TextEncoder();

function byteLength(text: string): number {
  return encoder.encode(text).length;
}
