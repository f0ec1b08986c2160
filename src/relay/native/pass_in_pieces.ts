import { UpstreamFailure } from "../../protocols/canonical/failure/failure.ts";
import { CODECS } from "../../protocols/mod.ts";
import { abandon } from "../../streams/discard.ts";
import {
  type ByteReader,
  createLookAhead,
  type LookAhead,
} from "../../streams/look_ahead.ts";
import { passThrough } from "../../streams/pass_through.ts";
import type { UpstreamAnswer } from "../../upstream/answer.ts";
import { brokenUpstream, failedReading } from "../../upstream/failure.ts";
import { endingOf } from "../answer_ending.ts";
import { firstOutputRestMs } from "../attempt.ts";
import { holdBack } from "../hold_back.ts";
import { openBody } from "../open_body.ts";
import { createStreamJudge } from "./beginning.ts";
import { createBodyMeter, createStreamMeter } from "./meter.ts";
import { nativeFailure } from "./native_failure.ts";
import type { PassAnswerOptions } from "./pass_answer_options.ts";
import { seeFailure } from "./holds_failure.ts";

/** An answer that goes to the caller as it comes. */
export interface PiecesOptions extends PassAnswerOptions {
  readonly body: ReadableStream<Uint8Array>;
  /** Whether it is a stream of events. */
  readonly isStream: boolean;
  /** Whether it is JSON, as far as its headers say. */
  readonly isJson: boolean;
}

/**
 * Gives an answer to the caller as it comes. Where something else could be tried, the beginning is held back until
 * it shows that it is good.
 *
 * @throws As `passAnswer` does.
 */
export async function passInPieces(
  answer: UpstreamAnswer,
  options: PiecesOptions,
): Promise<Response> {
  const { attempt, headers } = options;
  const { status } = answer;
  const { firstOutputMs } = attempt.deployment.connection.timeouts;
  const isHeld = attempt.mayMoveOn || options.isStream && firstOutputMs > 0;
  const reader = openBody(options.body, attempt, options.deadlines);
  const source = createLookAhead(reader);
  if (isHeld) await refuseBad(answer, source, options);
  attempt.exchange.record.facts.status = status;
  return new Response(passOn(isHeld ? source : reader, options), {
    status,
    headers,
  });
}

/** Sees the beginning; the source is given up when that is not good. */
async function refuseBad(
  answer: UpstreamAnswer,
  source: LookAhead,
  options: PiecesOptions,
): Promise<void> {
  try {
    if (options.isStream) await awaitGood(source, options);
    else await refuseFailure(answer, source, options);
  } catch (cause) {
    abandon(source);
    throw failedReading(cause, options.attempt.controller.signal);
  }
}

function passOn(
  source: ByteReader,
  { attempt, protocol, isStream, isJson, deadlines }: PiecesOptions,
): ReadableStream<Uint8Array> {
  const { controller, exchange: { record } } = attempt;
  const watch = CODECS[protocol].watch;
  const meter = isStream
    ? createStreamMeter(watch, record)
    : createBodyMeter(watch, record, isJson);
  return passThrough(source, {
    deadlines,
    onChunk: meter.push,
    isWhole: () => meter.end(true) !== "cut",
    onEnd(end) {
      const answerEnd = meter.end(end.kind === "complete");
      const said = answerEnd === "failed" ? meter.failure() : undefined;
      const failure = said && CODECS[protocol].decodeFailure(200, said);
      if (failure !== undefined) attempt.noteFailure(failure);
      const { signal } = controller;
      record.finish(endingOf(end, { answerEnd, failure, record, signal }));
      if (end.kind !== "complete") controller.abort();
    },
  });
}

/** Waits until a stream has shown that it is good. */
async function awaitGood(
  source: LookAhead,
  { attempt, protocol, secrets, deadlines }: PiecesOptions,
): Promise<void> {
  const beginning = await holdBack(source, {
    judge: createStreamJudge(CODECS[protocol].watch),
    deadlines,
    outputMs: firstOutputRestMs(attempt, deadlines),
  });
  if (beginning?.kind === "cut") {
    throw brokenUpstream("it ended before it began");
  }
  if (beginning?.kind === "failure") {
    throw new UpstreamFailure(
      secrets.leaveOut(CODECS[protocol].decodeFailure(200, beginning.body)),
    );
  }
}

/** Refuses an answer of unknown length that is a failure. */
async function refuseFailure(
  answer: UpstreamAnswer,
  source: LookAhead,
  { protocol, headers, secrets, clock }: PiecesOptions,
): Promise<void> {
  const bytes = await seeFailure(source, CODECS[protocol].watch);
  if (bytes === undefined) return;
  throw nativeFailure(answer, {
    bytes,
    headers,
    protocol,
    secrets,
    clock,
  });
}
