import type { Ending, RequestRecord } from "../observe/record.ts";
import { UpstreamFailure } from "../protocols/canonical/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import { WATCHES } from "../protocols/watch.ts";
import { type ByteReader, createLookAhead } from "../streams/look_ahead.ts";
import { passThrough, type PassThroughEnd } from "../streams/pass_through.ts";
import { CallerLeft } from "../upstream/call.ts";
import {
  brokenUpstream,
  reasonOf,
  silentUpstream,
} from "../upstream/failure.ts";
import { firstOutputRestMs } from "./attempt.ts";
import { type Beginning, holdBack } from "./hold_back.ts";
import { createBodyMeter, createStreamMeter } from "./meter.ts";
import type { PassAnswerOptions } from "./pass_answer.ts";

/** An answer that goes to the caller as it comes. */
export interface PiecesOptions extends PassAnswerOptions {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Whether it is a stream of events. */
  readonly isStream: boolean;
}

/**
 * Gives an answer to the caller as it comes. Where something else could be tried, the beginning of a stream
 * of events is held back until it shows that it is good.
 *
 * @throws As `passAnswer` does.
 */
export async function passInPieces(
  { status }: Response,
  options: PiecesOptions,
): Promise<Response> {
  const { attempt, headers } = options;
  const { firstOutputMs } = attempt.candidate.connection.timeouts;
  const isHeld = options.isStream && (attempt.mayMoveOn || firstOutputMs > 0);
  const reader = options.body.getReader();
  const source = isHeld ? await readToGood(reader, options) : reader;
  attempt.exchange.record.facts.status = status;
  return new Response(passOn(source, options), { status, headers });
}

function passOn(
  source: ByteReader,
  { attempt, protocol, isStream, deadlines }: PiecesOptions,
): ReadableStream<Uint8Array> {
  const { controller, candidate, exchange: { record } } = attempt;
  const watch = WATCHES[protocol];
  const meter = (isStream ? createStreamMeter : createBodyMeter)(watch, record);
  return passThrough(source, {
    deadlines,
    idleMs: candidate.connection.timeouts.idleMs,
    onChunk: (chunk) => meter.push(chunk),
    onEnd(end) {
      const isWhole = meter.end(end.kind === "complete");
      record.finish(endingOf(end, { isWhole, record, controller }));
      if (end.kind !== "complete") controller.abort();
    },
  });
}

/** Reads until the answer is good; what was read is to be read again. */
async function readToGood(
  reader: ByteReader,
  options: PiecesOptions,
): Promise<ByteReader> {
  const source = createLookAhead(reader);
  const { attempt, protocol, deadlines } = options;
  const { controller, candidate } = attempt;
  let beginning: Beginning;
  try {
    beginning = await holdBack(source, {
      watch: WATCHES[protocol],
      deadlines,
      idleMs: candidate.connection.timeouts.idleMs,
      outputMs: firstOutputRestMs(attempt, deadlines),
    });
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw brokenUpstream(reasonOf(cause), cause);
  }
  switch (beginning.kind) {
    case "good":
      return source;
    case "silent":
      throw silentUpstream();
    case "cut":
      throw brokenUpstream("it ended before it began");
    case "failure":
      throw new UpstreamFailure(
        CODECS[protocol].decodeFailure(200, beginning.body),
      );
  }
}

/**
 * Who has the whole answer has it, however the connections end afterwards: Codex leaves as soon as it has
 * read the last event.
 */
function endingOf(
  end: PassThroughEnd,
  { isWhole, record, controller }: {
    readonly isWhole: boolean;
    readonly record: RequestRecord;
    readonly controller: AbortController;
  },
): Ending {
  if (isWhole) return "complete";
  switch (end.kind) {
    case "complete":
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
