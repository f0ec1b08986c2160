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
import { type Beginning, createBeginningJudge } from "./beginning.ts";
import { type AnswerLabel, createAnswerMeter } from "./meter.ts";
import { nativeFailure } from "./native_failure.ts";
import type { PassAnswerOptions } from "./pass_answer_options.ts";

/** An answer that goes to the caller as it comes. */
export interface PiecesOptions extends PassAnswerOptions, AnswerLabel {
  readonly body: ReadableStream<Uint8Array>;
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
  const reader = openBody(options.body, attempt, options);
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
  const { attempt, protocol, isStream, deadlines } = options;
  try {
    const beginning = await holdBack(source, {
      judge: createBeginningJudge(CODECS[protocol].watch, isStream),
      deadlines,
      outputMs: isStream ? firstOutputRestMs(attempt, deadlines) : undefined,
      isPatient: !isStream,
    });
    if (beginning !== undefined) refuse(beginning, answer, options);
  } catch (cause) {
    abandon(source);
    throw failedReading(cause, attempt.controller.signal);
  }
}

/**
 * Refuses a beginning that is not good.
 *
 * @throws {UpstreamFailure} The failure that it is.
 * @throws {GatewayError} When the answer ended before it began.
 */
export function refuse(
  beginning: Beginning,
  answer: UpstreamAnswer,
  { protocol, headers, secrets, clock }: PassAnswerOptions,
): void {
  switch (beginning.kind) {
    case "cut":
      throw brokenUpstream("it ended before it began");
    case "failure":
      throw new UpstreamFailure(
        secrets.leaveOut(CODECS[protocol].decodeFailure(200, beginning.body)),
      );
    case "refusal": {
      const { bytes } = beginning;
      const told = { bytes, headers, protocol, secrets, clock };
      throw nativeFailure(answer, told);
    }
  }
}

function passOn(
  source: ByteReader,
  { attempt, protocol, isStream, isJson, deadlines }: PiecesOptions,
): ReadableStream<Uint8Array> {
  const { controller, exchange: { record }, head } = attempt;
  const { watch } = CODECS[protocol];
  const mayChangeModel = head.namedModels.length > 0;
  const label = { isStream, isJson, mayChangeModel };
  const meter = createAnswerMeter(watch, record, label);
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
