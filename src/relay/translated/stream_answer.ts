import { GatewayError } from "../../core/error.ts";
import { pipe } from "../../core/stage.ts";
import { bindReasoning } from "../../protocols/canonical/answer/bound.ts";
import { cutAtStops } from "../../protocols/canonical/answer/stop_strings.ts";
import {
  brokenAnswer,
  type Failure,
  UpstreamFailure,
} from "../../protocols/canonical/failure/failure.ts";
import { restoreTools } from "../../protocols/canonical/tools/restore_tools.ts";
import { settleCalls } from "../../protocols/canonical/tools/settle_calls.ts";
import { createBodyDecoder } from "../../protocols/decode_body.ts";
import {
  createTranslator,
  type Translator,
} from "../../protocols/translate_stream.ts";
import {
  abandon,
  type ByteRead,
  type ByteReader,
  createLookAhead,
  type LookAhead,
} from "../../streams/byte_reader.ts";
import { passThrough } from "../../streams/pass_through.ts";
import { IdleError } from "../../streams/watched_reader.ts";
import { CallerLeft } from "../../upstream/call.ts";
import { reasonOf } from "../../upstream/failure.ts";
import {
  type AnswerEnd,
  type BeginningJudge,
  endingOf,
  holdBack,
} from "../answer_body.ts";
import { firstOutputRestMs } from "../attempt.ts";
import {
  contextOf,
  headersOf,
  type TranslateAnswerOptions,
  type TranslatedWatch,
} from "./answer_watch.ts";

/** A stream to translate, and who watches it. */
interface StreamAnswerOptions extends TranslateAnswerOptions {
  readonly watch: TranslatedWatch;
}

/**
 * Gives an upstream's answer to the caller as a stream of the caller's protocol. Status and headers go out with its
 * first output. Finishes the record when it ends.
 *
 * @param upstream Its bytes, as `openBody` reads them.
 * @throws {UpstreamFailure} When the upstream fails before any output.
 * @throws {GatewayError} When it is silent before any output.
 */
export async function streamAnswer(
  upstream: ByteReader,
  options: StreamAnswerOptions,
): Promise<Response> {
  const { attempt } = options;
  const translator = translatorFor(options);
  const source = createLookAhead(
    createTranslatingReader(upstream, {
      translator,
      failureOf: (cause) => failureOfBreak(cause, attempt.controller),
    }),
  );
  await awaitOutput(source, options);
  attempt.exchange.record.facts.status = 200;
  return new Response(passOn(source, { ...options, translator }), {
    headers: headersOf(options, "text/event-stream"),
  });
}

function passOn(
  source: ByteReader,
  { attempt, services: { deadlines }, watch, translator }:
    & StreamAnswerOptions
    & { readonly translator: Translator },
): ReadableStream<Uint8Array> {
  const { controller, exchange: { record } } = attempt;
  const noteChunk = record.watchChunks();
  const encoder = new TextEncoder();
  return passThrough(source, {
    deadlines,
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
      record.finish(endingOf(end, { answerEnd, failure, record, signal }));
      controller.abort();
    },
  });
}

function answerEndOf(watch: TranslatedWatch): AnswerEnd {
  if (watch.isWhole()) return "whole";
  return watch.failure() === undefined ? "cut" : "failed";
}

function translatorFor(options: StreamAnswerOptions): Translator {
  const { from, to, translated, services, watch } = options;
  const { aliases, cuts, bound } = translated;
  const restored = aliases.size === 0
    ? settleCalls()
    : pipe(restoreTools(aliases), settleCalls());
  const cut = cuts.length === 0 ? restored : pipe(cutAtStops(cuts), restored);
  return createTranslator({
    decoder: createBodyDecoder(to, services.ids),
    between: bound === undefined ? cut : pipe(cut, bindReasoning(bound)),
    encoder: from.createStreamEncoder(contextOf(options)),
    observe: watch.see,
  });
}

/** Holds the stream back until there is something for the caller, who is kept company afterwards. */
async function awaitOutput(
  source: LookAhead,
  { attempt, services: { deadlines }, watch }: StreamAnswerOptions,
): Promise<void> {
  try {
    await holdBack(source, {
      judge: createOutputJudge(watch),
      deadlines,
      outputMs: firstOutputRestMs(attempt, deadlines),
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

/** Asks who watches the translation whether there is output, or a failure in its place. */
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
 * What it means for the caller that the upstream's bytes broke off.
 *
 * @throws {CallerLeft} When they did because there is no caller any more: that is no failure of the upstream's.
 */
function failureOfBreak(
  cause: unknown,
  { signal }: AbortController,
): Failure {
  if (signal.reason instanceof CallerLeft) throw signal.reason;
  if (signal.reason instanceof GatewayError) {
    return { kind: "overloaded", message: signal.reason.message };
  }
  if (cause instanceof IdleError) return SILENT;
  return brokenAnswer(`The model's provider broke off: ${reasonOf(cause)}`);
}

const SILENT: Failure = {
  kind: "silent",
  status: 504,
  message: "The model's provider fell silent: try again later",
  code: "upstream_timeout",
};

/**
 * Most bytes of a translated stream without any output, inflated: far more than an event may have. Compressed, they may
 * be a few hundred.
 */
export const MAX_EMPTY_BYTES: number = 16 * 1024 * 1024;

/** The failure of a stream with more of them. */
export const EMPTY_ANSWER: Failure = brokenAnswer(
  "The provider sent 16 MiB without any output",
);

/** How an upstream's bytes become the caller's. */
interface TranslatingReaderOptions {
  readonly translator: Translator;
  /**
   * What it means that the upstream's bytes break off, by their error; throws where that means nothing to the caller.
   */
  readonly failureOf: (cause: unknown) => Failure;
}

/**
 * Reads a stream of one protocol as one of another: a chunk for each of the upstream's, an empty one where that means
 * nothing to the caller. Whatever goes wrong with the upstream is told in the caller's protocol, which ends the stream
 * then without looking whole; it throws only what `failureOf` throws, and what nobody foresaw. The upstream is given
 * up as soon as the answer is over, however long it lingers.
 */
export function createTranslatingReader(
  upstream: ByteReader,
  { translator, failureOf }: TranslatingReaderOptions,
): ByteReader {
  const encoder = new TextEncoder();
  let emptyBytes = 0;

  function give(text: string): ByteRead {
    if (translator.isOver()) abandon(upstream);
    return { done: false, value: encoder.encode(text) };
  }

  const breakOff = (cause: unknown) => give(translator.fail(failureOf(cause)));

  function translate({ done, value }: ByteRead): ByteRead {
    try {
      return give(done ? translator.end() : push(value));
    } catch (cause) {
      return breakOff(cause);
    }
  }

  function push(bytes: Uint8Array): string {
    const text = translator.push(bytes);
    emptyBytes = text === "" ? emptyBytes + bytes.length : 0;
    return emptyBytes > MAX_EMPTY_BYTES ? translator.fail(EMPTY_ANSWER) : text;
  }

  return {
    read: () =>
      translator.isOver()
        ? Promise.resolve({ done: true })
        : upstream.read().then(translate, breakOff),
    cancel: (reason) => upstream.cancel(reason),
  };
}
