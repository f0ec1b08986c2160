import type { Ending } from "../../observe/facts.ts";
import type { RequestRecord } from "../../observe/record.ts";
import { UpstreamFailure } from "../../protocols/canonical/failure/failure.ts";
import { CODECS } from "../../protocols/mod.ts";
import { WATCHES } from "../../protocols/watch.ts";
import { createByteReader } from "../../streams/byte_reader.ts";
import { createIdleWatch } from "../../streams/idle_watch.ts";
import {
  type ByteReader,
  createLookAhead,
  type LookAhead,
} from "../../streams/look_ahead.ts";
import {
  passThrough,
  type PassThroughEnd,
} from "../../streams/pass_through.ts";
import { CallerLeft } from "../../upstream/call.ts";
import {
  brokenUpstream,
  callErrorOf,
  reasonOf,
  silentUpstream,
} from "../../upstream/failure.ts";
import { firstOutputRestMs } from "../attempt.ts";
import { holdBack } from "./hold_back.ts";
import { type AnswerEnd, createBodyMeter, createStreamMeter } from "./meter.ts";
import { nativeFailure } from "./native_failure.ts";
import type { PassAnswerOptions } from "./pass_answer_options.ts";
import { seeFailure } from "./tells_failure.ts";

/** An answer that goes to the caller as it comes. */
export interface PiecesOptions extends PassAnswerOptions {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
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
  answer: Response,
  options: PiecesOptions,
): Promise<Response> {
  const { attempt, headers } = options;
  const { status } = answer;
  const { firstOutputMs } = attempt.deployment.connection.timeouts;
  const isHeld = attempt.mayMoveOn || options.isStream && firstOutputMs > 0;
  const reader = options.secrets.cover(createByteReader(options.body));
  const source = createLookAhead(reader);
  if (isHeld) {
    if (options.isStream) await awaitGood(source, options);
    else await refuseFailure(answer, source, options);
  }
  attempt.exchange.record.facts.status = status;
  return new Response(passOn(isHeld ? source : reader, options), {
    status,
    headers,
  });
}

function passOn(
  source: ByteReader,
  { attempt, protocol, isStream, isJson, deadlines }: PiecesOptions,
): ReadableStream<Uint8Array> {
  const { controller, deployment, exchange: { record } } = attempt;
  const watch = WATCHES[protocol];
  const meter = isStream
    ? createStreamMeter(watch, record)
    : createBodyMeter(watch, record, isJson);
  return passThrough(source, {
    deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    onChunk: (chunk) => meter.push(chunk),
    isWhole: () => meter.end(true) !== "cut",
    onEnd(end) {
      const answerEnd = meter.end(end.kind === "complete");
      if (answerEnd === "failed" && meter.failure !== undefined) {
        attempt.noteFailure(CODECS[protocol].decodeFailure(200, meter.failure));
      }
      record.finish(endingOf(end, { answerEnd, record, controller }));
      if (end.kind !== "complete") controller.abort();
    },
  });
}

/** Waits until a stream has shown that it is good. */
async function awaitGood(
  source: LookAhead,
  options: PiecesOptions,
): Promise<void> {
  const { attempt, protocol, deadlines } = options;
  const { controller, deployment } = attempt;
  const beginning = await reading(
    holdBack(source, {
      watch: WATCHES[protocol],
      deadlines,
      idleMs: deployment.connection.timeouts.idleMs,
      outputMs: firstOutputRestMs(attempt, deadlines),
    }),
    controller,
  );
  switch (beginning.kind) {
    case "good":
      return;
    case "silent":
      throw silentUpstream();
    case "cut":
      throw brokenUpstream("it ended before it began");
    case "failure":
      throw new UpstreamFailure(
        options.secrets.leaveOut(
          CODECS[protocol].decodeFailure(200, beginning.body),
        ),
      );
  }
}

/** Refuses an answer of unknown length that is a failure. */
async function refuseFailure(
  answer: Response,
  source: LookAhead,
  { attempt, protocol, headers, secrets, deadlines, clock }: PiecesOptions,
): Promise<void> {
  const { controller, deployment } = attempt;
  const idle = createIdleWatch({
    deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    onIdle: () => controller.abort(silentUpstream()),
  });
  const failure = seeFailure(source, { watch: WATCHES[protocol], idle });
  const bytes = await reading(failure, controller);
  if (bytes === undefined) return;
  throw nativeFailure(answer, {
    bytes,
    headers,
    protocol,
    secrets,
    clock,
  });
}

/** Tells what broke while an answer was read. */
async function reading<Found>(
  work: Promise<Found>,
  { signal }: AbortController,
): Promise<Found> {
  try {
    return await work;
  } catch (cause) {
    throw callErrorOf(cause, signal);
  }
}

/**
 * Who has the whole answer has it, however the connections end afterwards: Codex leaves as soon as it has
 * read the last event.
 */
function endingOf(
  end: PassThroughEnd,
  { answerEnd, record, controller }: {
    readonly answerEnd: AnswerEnd;
    readonly record: RequestRecord;
    readonly controller: AbortController;
  },
): Ending {
  if (answerEnd === "whole") return "complete";
  if (answerEnd === "failed") {
    record.facts.reason = "its answer ended with an error";
    return "upstream_broken";
  }
  switch (end.kind) {
    case "complete":
    case "unfinished":
      record.facts.reason = "its answer ended before it was whole";
      return "upstream_broken";
    case "cancelled":
      return "client_abort";
    case "stalled":
      record.facts.reason = "the caller stopped reading";
      return "client_abort";
    case "idle":
      record.facts.reason = "the upstream fell silent";
      return "upstream_broken";
    case "broken":
      if (!controller.signal.aborted) {
        record.facts.reason = reasonOf(end.cause);
        return "upstream_broken";
      }
      return controller.signal.reason instanceof CallerLeft
        ? "client_abort"
        : "error";
  }
}
