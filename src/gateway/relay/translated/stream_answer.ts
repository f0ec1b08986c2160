import { type AnyResponse, DirectResponse } from "@gateway/http1";
import { CallerLeft } from "../../upstream/call.ts";
import { GatewayError } from "@gateway/base/error";
import type { Deadlines } from "@gateway/base/time/deadlines";
import {
  brokenAnswer,
  type Failure,
  openTranslator,
  UpstreamFailure,
} from "@gateway/codecs";
import {
  abandon,
  type ByteRead,
  type ByteReader,
  createLookAhead,
  type LookAhead,
  readOut,
} from "@gateway/base/streams/byte_reader";
import { PassThrough } from "@gateway/base/streams/pass_through";
import { IdleError } from "@gateway/base/streams/watched_reader";
import { reasonOf } from "../../upstream/failure.ts";
import {
  type AnswerEnd,
  type BeginningJudge,
  endingOf,
  holdBack,
} from "../answer_body.ts";
import { firstOutputRestMs } from "../attempt.ts";
import { endRequest } from "../end_request.ts";
import { isTokenRemoved } from "../request/admission.ts";
import {
  contextOf,
  headersOf,
  type TranslateAnswerOptions,
  type TranslatedWatch,
} from "./answer_watch.ts";

type Translator = ReturnType<typeof openTranslator>;

/** A stream to translate, and its watch. */
interface StreamAnswerOptions extends TranslateAnswerOptions {
  readonly watch: TranslatedWatch;
}

/**
 * Sends an upstream's answer to the caller as a stream of the caller's protocol. Status and headers are sent with its
 * first output. Its end ends the request.
 *
 * @param upstream The upstream's bytes, as `openBody` reads them.
 * @throws {UpstreamFailure} When the upstream fails before any output.
 * @throws {GatewayError} When the upstream exceeds a timeout before any output.
 */
export async function streamAnswer(
  upstream: ByteReader,
  options: StreamAnswerOptions,
): Promise<AnyResponse> {
  const { attempt, services } = options;
  const translator = translatorFor(options);
  const source = createLookAhead(
    createTranslatingReader(upstream, {
      translator,
      failureOf: (cause) => failureOfBreak(cause, attempt.controller),
      deadlines: services.deadlines,
    }),
  );
  await awaitOutput(source, options);
  attempt.exchange.record.facts.status = 200;
  return new DirectResponse(passOn(source, { ...options, translator }), {
    headers: headersOf(options, "text/event-stream"),
  });
}

function passOn(
  source: ByteReader,
  { attempt, services: { deadlines }, watch, translator }:
    & StreamAnswerOptions
    & { readonly translator: Translator },
): PassThrough {
  const { controller, exchange, isAwaited } = attempt;
  const { record } = exchange;
  const noteChunk = record.watchChunks();
  const encoder = new TextEncoder();
  return new PassThrough(source, {
    deadlines,
    isAwaited,
    keepAlive: () => encoder.encode(translator.keepAlive()),
    onChunk(chunk) {
      record.facts.bytesOut += chunk.length;
      noteChunk?.();
    },
    onEnd(end) {
      const failure = watch.failure();
      record.facts.answer.outputCharacters = watch.outputCharacters();
      if (failure !== undefined) attempt.noteFailure(failure);
      const { signal } = controller;
      const answerEnd = answerEndOf(watch);
      const ending = { answerEnd, failure, record, signal };
      endRequest(exchange, endingOf(end, ending));
      if (end.kind !== "complete") controller.abort();
    },
  });
}

function answerEndOf(watch: TranslatedWatch): AnswerEnd {
  if (watch.isWhole()) return "whole";
  return watch.failure() === undefined ? "cut" : "failed";
}

function translatorFor(options: StreamAnswerOptions): Translator {
  const { attempt: { exchange }, from, to, translated, watch } = options;
  return openTranslator({
    ...{ from, to },
    edits: translated,
    context: contextOf(options),
    observe: watch.see,
    remember: (reasoning) =>
      options.services.reasoningMemory.keep(exchange.caller.sha256, reasoning),
  });
}

/** Holds the stream back until its first output. Keep-alive comments are sent only after that. */
async function awaitOutput(
  source: LookAhead,
  { attempt, services: { deadlines }, watch }: StreamAnswerOptions,
): Promise<void> {
  try {
    await holdBack(source, {
      judge: createOutputJudge(watch),
      deadlines,
      outputMs: firstOutputRestMs(attempt, deadlines),
      // The first events of Responses repeat the instructions and tools of the request.
      maxBytes: Infinity,
    });
    const failure = watch.failure();
    if (failure === undefined || watch.hasOutput()) return;
    const { signal } = attempt.controller;
    throw signal.aborted ? signal.reason : new UpstreamFailure(failure);
  } catch (error) {
    abandon(source);
    throw error;
  }
}

/** Creates a judge that ends when the watch has seen output, or a failure in its place. */
function createOutputJudge(
  watch: TranslatedWatch,
): BeginningJudge<TranslatedWatch> {
  return {
    push: () =>
      watch.hasOutput() || watch.failure() !== undefined ? watch : undefined,
    end: () => watch,
  };
}

/**
 * Returns the failure that the caller receives when the upstream's bytes break off.
 *
 * @throws {CallerLeft} When the caller disconnected, which is not a failure of the upstream.
 */
function failureOfBreak(
  cause: unknown,
  { signal }: AbortController,
): Failure {
  if (signal.reason instanceof CallerLeft) throw signal.reason;
  if (signal.reason instanceof GatewayError) {
    const { message, code } = signal.reason;
    return isTokenRemoved(signal.reason)
      ? { kind: "unauthenticated", message, code }
      : { kind: "overloaded", message };
  }
  if (cause instanceof IdleError) return SILENT;
  return brokenAnswer(`The model's provider broke off: ${reasonOf(cause)}`);
}

const SILENT: Failure = {
  kind: "silent",
  status: 504,
  message:
    "Cannot finish the answer: the model's provider sent nothing in time. Try again later.",
  code: "upstream_timeout",
};

interface TranslatingReaderOptions {
  readonly translator: Translator;
  /** Converts the error of an upstream that broke off to a failure. It throws if the caller must not receive one. */
  readonly failureOf: (cause: unknown) => Failure;
  readonly deadlines: Deadlines;
}

/**
 * Reads a stream of one protocol as one of another. Each chunk of the upstream gives one chunk, which is empty if it
 * adds nothing for the caller.
 *
 * An upstream's error is written in the caller's protocol and ends the stream, which then has no regular end. The
 * reader itself throws only the errors of `failureOf`, and bugs. When the answer is over, it reads the upstream's rest,
 * so that its connection can serve again, and cancels it if it goes on.
 */
export function createTranslatingReader(
  upstream: ByteReader,
  { translator, failureOf, deadlines }: TranslatingReaderOptions,
): ByteReader {
  const encoder = new TextEncoder();

  function give(text: string): ByteRead {
    return { done: false, value: encoder.encode(text) };
  }

  function breakOff(cause: unknown): ByteRead {
    const text = translator.fail(failureOf(cause));
    abandon(upstream);
    return give(text);
  }

  function translate({ done, value }: ByteRead): ByteRead {
    try {
      const text = done ? translator.end() : translator.push(value);
      if (!done && translator.isOver()) readOut(upstream, deadlines);
      return give(text);
    } catch (cause) {
      return breakOff(cause);
    }
  }

  return {
    read: () =>
      translator.isOver()
        ? Promise.resolve({ done: true })
        : upstream.read().then(translate, breakOff),
    cancel: (reason) => upstream.cancel(reason),
  };
}
