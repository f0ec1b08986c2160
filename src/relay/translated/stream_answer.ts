import { byteLength } from "../../core/byte_length.ts";
import { GatewayError } from "../../core/error.ts";
import { pipe } from "../../core/stage.ts";
import type { Ending } from "../../observe/facts.ts";
import {
  brokenAnswer,
  type Failure,
  UpstreamFailure,
} from "../../protocols/canonical/failure/failure.ts";
import { restoreTools } from "../../protocols/canonical/tools/restore_tools.ts";
import { settleCalls } from "../../protocols/canonical/tools/settle_calls.ts";
import { cutAtStops } from "../../protocols/canonical/answer/stop_strings.ts";
import {
  createTranslator,
  type Translator,
} from "../../protocols/translate_stream.ts";
import { reasonOf, silentUpstream } from "../../upstream/failure.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { firstOutputRestMs } from "../attempt.ts";
import {
  contextOf,
  headersOf,
  type TranslateAnswerOptions,
} from "./answer_context.ts";
import {
  createTranslatedStream,
  type TranslatedEnd,
  type TranslatedStream,
} from "./translated_stream.ts";
import type { TranslatedWatch } from "./answer_watch.ts";

/** A stream to translate, and who watches it. */
export interface StreamAnswerOptions extends TranslateAnswerOptions {
  readonly watch: TranslatedWatch;
}

/**
 * Gives an upstream's stream to the caller as one of the caller's protocol. Status and headers go out with its
 * first output. Finishes the record when it ends.
 *
 * @throws {UpstreamFailure} When the upstream fails before any output.
 * @throws {GatewayError} When it is silent before any output.
 */
export async function streamAnswer(
  body: ReadableStream<Uint8Array>,
  options: StreamAnswerOptions,
): Promise<Response> {
  const stream = openStream(body, options);
  await awaitOutput(stream, options);
  options.attempt.exchange.record.facts.status = 200;
  return new Response(stream.body, {
    headers: headersOf(options, "text/event-stream"),
  });
}

function openStream(
  body: ReadableStream<Uint8Array>,
  options: StreamAnswerOptions,
): TranslatedStream {
  const { attempt: { controller, deployment, exchange }, services } = options;
  const { record } = exchange;
  const noteChunk = record.watchChunks();
  return createTranslatedStream(body, {
    secrets: secretsOf(deployment.connection),
    translator: translatorFor(options),
    deadlines: services.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    failureOf: (cause) => failureOfBreak(cause, controller),
    signal: controller.signal,
    onText(text) {
      record.facts.bytesOut += byteLength(text);
      noteChunk?.();
    },
    onEnd(how) {
      finish(how, options);
      controller.abort();
    },
  });
}

function translatorFor(options: StreamAnswerOptions): Translator {
  const { from, to, translated: { aliases, cuts }, services, watch } = options;
  const restored = aliases.size === 0
    ? settleCalls()
    : pipe(restoreTools(aliases), settleCalls());
  return createTranslator({
    decoder: to.createStreamDecoder(services.ids),
    between: cuts.length === 0 ? restored : pipe(cutAtStops(cuts), restored),
    encoder: from.createStreamEncoder(contextOf(options)),
    observe: watch.see,
  });
}

/** Finishes the record of a stream that ended. */
function finish(
  how: TranslatedEnd,
  { attempt: { exchange: { record }, noteFailure }, watch }:
    StreamAnswerOptions,
): void {
  if (watch.failure !== undefined) {
    record.facts.reason = watch.failure.kind;
    noteFailure(watch.failure);
  }
  if (how === "stalled") record.facts.reason = "the caller stopped reading";
  record.finish(endingOf(how, watch));
}

/** What is too long did not break off: the gateway gave it up. */
function endingOf(
  how: TranslatedEnd,
  { isWhole, failure }: TranslatedWatch,
): Ending {
  if (isWhole) return "complete";
  if (how !== "over") return "client_abort";
  return failure?.kind === "oversized" ? "error" : "upstream_broken";
}

/** Holds the stream back until there is something for the caller. */
async function awaitOutput(
  stream: TranslatedStream,
  { attempt, services, watch }: StreamAnswerOptions,
): Promise<void> {
  const outputMs = firstOutputRestMs(attempt, services.deadlines);
  const isLate = await stream.hold(() => watch.hasOutput, outputMs);
  // Without a deadline the caller waits on, kept company.
  if (isLate && outputMs !== undefined) {
    stream.discard();
    throw silentUpstream();
  }
  if (watch.failure === undefined || watch.hasOutput) return;
  stream.discard();
  const { signal } = attempt.controller;
  throw signal.aborted ? signal.reason : new UpstreamFailure(watch.failure);
}

function failureOfBreak(
  cause: unknown,
  { signal }: AbortController,
): Failure {
  if (signal.reason instanceof GatewayError) {
    return { kind: "overloaded", message: signal.reason.message };
  }
  return brokenAnswer(`The model's provider broke off: ${reasonOf(cause)}`);
}
