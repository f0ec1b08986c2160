import { CallerLeft } from "../upstream/call.ts";
import { type Deadlines, within } from "@gateway/base/time/deadlines";
import { type Ending, FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Failure } from "@gateway/codecs";
import {
  type ByteReader,
  type ByteSource,
  createByteReader,
  type LookAhead,
} from "@gateway/base/streams/byte_reader";
import {
  PassThrough,
  type PassThroughEnd,
} from "@gateway/base/streams/pass_through";
import { IdleError, WatchedReader } from "@gateway/base/streams/watched_reader";
import { isTokenRemoved } from "./request/admission.ts";
import { reasonOf, silentUpstream } from "../upstream/failure.ts";
import { secretsOf } from "../upstream/secrets.ts";
import type { Attempt } from "./attempt.ts";
import { endRequest } from "./end_request.ts";

interface OpenBodyOptions {
  readonly deadlines: Deadlines;
  /** The maximum size of a chunk; default: no maximum. */
  readonly maxChunkBytes?: number | undefined;
}

/**
 * The maximum size of a chunk to translate, in bytes. Translating a hostile body may take a microsecond per byte, and
 * the event loop is blocked meanwhile.
 */
export const TRANSLATED_BYTES: number = 16 * 1024;

/**
 * Opens a reader of an upstream's body. The reader masks the gateway's secrets. It alone applies the idle timeout.
 *
 * The reader throws `IdleError` when the idle timeout passes. If the attempt's signal aborts, the reader throws the
 * signal's reason.
 */
export function openBody(
  body: ByteSource,
  { deployment: { connection }, controller: { signal } }: Attempt,
  { deadlines, maxChunkBytes }: OpenBodyOptions,
): ByteReader {
  const chunks = createByteReader(body, { maxChunkBytes });
  const watched = {
    deadlines,
    idleMs: connection.timeouts.idleMs,
    signal,
  };
  const change = secretsOf(connection).coverReads();
  return new WatchedReader(chunks, watched, change);
}

/** Classifies the beginning of an answer. */
export interface BeginningJudge<Verdict extends object> {
  /** Takes the next chunk. Returns `undefined` until the beginning can be classified. */
  push(chunk: Uint8Array): Verdict | undefined;
  /** Classifies an answer that ended before `push` could classify it. */
  end(): Verdict;
}

interface HoldBackOptions<Verdict extends object> {
  readonly judge: BeginningJudge<Verdict>;
  readonly deadlines: Deadlines;
  /** The time until the beginning must be classified, in milliseconds; `undefined` for no deadline. */
  readonly outputMs: number | undefined;
  /** True to wait without a time limit; default `false`. */
  readonly waitsWithoutLimit?: boolean;
  /** The most bytes that are held back; default 256 KiB. */
  readonly maxBytes?: number;
}

/** The longest time for which an answer without a deadline is held back, in milliseconds (docs/design.md#failover). */
const MAX_HOLD_MS = 15_000;

/** The most bytes that are held back by default. They are limited because a provider may send endless white space. */
const MAX_HELD_BYTES = 256 * 1024;

/**
 * Holds an answer back until the judge has classified its beginning, because no other attempt may follow once the
 * caller has got bytes. The source keeps the bytes that are held back. The reader of the source gets these bytes later.
 *
 * @returns The verdict of the judge. `undefined` if the judge has none after `maxBytes` bytes, or after `MAX_HOLD_MS`
 * when there is no deadline. The caller then gets the bytes so far.
 * @throws {GatewayError} `timeout` if the judge has no verdict at the deadline.
 * @throws The errors of the source and of the judge.
 */
export async function holdBack<Verdict extends object>(
  source: LookAhead,
  {
    judge,
    deadlines,
    outputMs,
    waitsWithoutLimit = false,
    maxBytes = MAX_HELD_BYTES,
  }: HoldBackOptions<Verdict>,
): Promise<Verdict | undefined> {
  let isLate = false;

  async function look(): Promise<Verdict | undefined> {
    let found: Verdict | undefined;
    let heldBytes = 0;
    while (found === undefined && heldBytes < maxBytes) {
      const read = await source.peek();
      if (isLate) break;
      heldBytes += read.value?.length ?? 0;
      found = read.done ? judge.end() : judge.push(read.value);
    }
    return found;
  }

  if (waitsWithoutLimit) return await look();
  return await within(look(), {
    ms: outputMs ?? MAX_HOLD_MS,
    start: deadlines.start,
    onLate: () => {
      isLate = true;
      if (outputMs === undefined) return undefined;
      throw silentUpstream();
    },
  });
}

/**
 * How an answer ended: `whole` if the end that its protocol defines has arrived, `failed` if an error ended the answer,
 * `cut` if neither arrived.
 */
export type AnswerEnd = "whole" | "failed" | "cut";

/** The facts about an answer that has ended. */
interface AnswerEnding {
  readonly answerEnd: AnswerEnd;
  readonly record: RequestRecord;
  /** The failure that ended the answer, if the answer names one. */
  readonly failure?: Failure | undefined;
  /** The signal of the attempt. */
  readonly signal: AbortSignal;
}

/**
 * Returns the ending of a request whose answer was streamed, and records the reason. A caller that has the whole answer
 * was served, even if the caller then disconnects, as Codex does after the last event. A caller that stopped reading
 * was not served.
 */
export function endingOf(
  end: PassThroughEnd,
  { answerEnd, failure, record: { facts }, signal }: AnswerEnding,
): Ending {
  if (answerEnd === "whole" && end.kind !== "stalled") return "complete";
  if (signal.aborted && !(signal.reason instanceof CallerLeft)) {
    facts.reason = isTokenRemoved(signal.reason)
      ? "its token was removed"
      : "the gateway shuts down";
    return "error";
  }
  if (answerEnd === "failed") {
    facts.reason = "its answer ended with an error";
    if (failure !== undefined) {
      facts.failure = FAILURE_WORD_BY_KIND[failure.kind];
    }
    // The upstream is not broken: the gateway ends an answer that is too long.
    return failure?.kind === "oversized" ? "error" : "upstream_broken";
  }
  switch (end.kind) {
    case "complete":
    case "unfinished":
      facts.failure = "broken";
      facts.reason = "its answer ended before it was whole";
      return "upstream_broken";
    case "cancelled":
      return "client_abort";
    case "stalled":
      facts.reason = end.forOthers
        ? "the caller stopped reading while others waited for the connection"
        : "the caller stopped reading";
      return "client_abort";
    case "broken":
      if (end.cause instanceof IdleError) {
        facts.failure = "silent";
        facts.reason = "the upstream fell silent";
        return "upstream_broken";
      }
      if (signal.aborted) return "client_abort";
      facts.failure = "broken";
      facts.reason = reasonOf(end.cause);
      return "upstream_broken";
  }
}

type PassThroughOptions = ConstructorParameters<typeof PassThrough>[1];

interface PassOnOptions
  extends Omit<PassThroughOptions, "isAwaited" | "onEnd"> {
  /**
   * Returns how the answer ended, and the failure, if one ended the answer. `isWhole` is true when the body is
   * complete.
   */
  readonly onEnd: (
    isWhole: boolean,
  ) => Pick<AnswerEnding, "answerEnd" | "failure">;
}

/** Sends an answer to the caller as the answer arrives. When the answer ends, the request ends. */
export function passOn(
  source: ByteReader,
  attempt: Attempt,
  { onEnd, ...options }: PassOnOptions,
): PassThrough {
  const { controller, exchange, isAwaited } = attempt;
  const { record } = exchange;
  const { signal } = controller;
  return new PassThrough(source, {
    ...options,
    isAwaited,
    onEnd(end) {
      const { answerEnd, failure } = onEnd(end.kind === "complete");
      if (failure !== undefined) attempt.noteFailure(failure);
      const ending = { answerEnd, failure, record, signal };
      endRequest(exchange, endingOf(end, ending));
      if (end.kind !== "complete") controller.abort();
    },
  });
}
