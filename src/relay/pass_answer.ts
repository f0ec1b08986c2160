import type { Deadlines } from "../core/deadlines.ts";
import type { Ending, RequestRecord } from "../observe/record.ts";
import type { AnswerWatch } from "../protocols/canonical/watch.ts";
import { passThrough, type PassThroughEnd } from "../streams/pass_through.ts";
import { CallerLeft } from "../upstream/call.ts";
import {
  brokenUpstream,
  reasonOf,
  silentUpstream,
} from "../upstream/failure.ts";
import type { Exchange } from "./exchange.ts";
import { createBodyMeter, createStreamMeter, type Meter } from "./meter.ts";

/** How an upstream's answer goes to the caller. */
export interface PassAnswerOptions {
  readonly exchange: Exchange;
  readonly watch: AnswerWatch;
  /** What the caller gets of the upstream's headers. */
  readonly headers: [string, string][];
  readonly deadlines: Deadlines;
  /** How long the upstream may be silent, in milliseconds; 0 means for ever. */
  readonly idleMs: number;
}

/** A JSON answer that says it is no longer than this goes on in one piece, which is much cheaper than a stream. */
const ONE_PIECE_BYTES = 64 * 1024;

/**
 * Gives an upstream's answer to the caller with its status and bytes unchanged, and finishes the record when
 * it ends.
 *
 * @throws {GatewayError} When a short answer breaks off before any of it went out.
 * @throws {CallerLeft} When the caller leaves before any of it went out.
 */
export async function passAnswer(
  answer: Response,
  options: PassAnswerOptions,
): Promise<Response> {
  const { status, body } = answer;
  const { record } = options.exchange;
  record.facts.status = status;
  const init = { status, headers: options.headers };
  if (body === null) {
    record.finish("complete");
    return new Response(null, init);
  }
  const isStream = isEventStream(answer.headers);
  const meter = (isStream ? createStreamMeter : createBodyMeter)(
    options.watch,
    record,
  );
  if (!isStream && isShort(answer.headers)) {
    const bytes = await readShort(answer, options);
    meter.push(bytes);
    meter.end(true);
    record.finish("complete");
    return new Response(bytes, init);
  }
  return new Response(passStream(body, meter, options), init);
}

function passStream(
  body: ReadableStream<Uint8Array>,
  meter: Meter,
  { exchange, deadlines, idleMs }: PassAnswerOptions,
): ReadableStream<Uint8Array> {
  const { record, controller } = exchange;
  return passThrough(body, {
    deadlines,
    idleMs,
    onChunk: (chunk) => meter.push(chunk),
    onEnd(end) {
      const isWhole = meter.end(end.kind === "complete");
      record.finish(endingOf(end, { isWhole, record, controller }));
      if (end.kind !== "complete") controller.abort();
    },
  });
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

async function readShort(
  answer: Response,
  { exchange: { controller }, deadlines, idleMs }: PassAnswerOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const takeBack = deadlines.start(
    idleMs,
    () => controller.abort(silentUpstream()),
  );
  try {
    return await answer.bytes();
  } catch (cause) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw brokenUpstream(reasonOf(cause), cause);
  } finally {
    takeBack();
  }
}

function isEventStream(headers: Headers): boolean {
  return /^\s*text\/event-stream\b/i.test(headers.get("content-type") ?? "");
}

/** A compressed length says nothing about the bytes that come out. */
function isShort(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= ONE_PIECE_BYTES &&
    headers.get("content-encoding") === null;
}
