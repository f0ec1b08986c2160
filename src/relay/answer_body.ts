import { type Deadlines, within } from "../core/time/deadlines.ts";
import { type Ending, FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Failure } from "../protocols/canonical/failure/failure.ts";
import {
  type ByteReader,
  type ByteSource,
  createByteReader,
  type LookAhead,
} from "../streams/byte_reader.ts";
import type { PassThroughEnd } from "../streams/pass_through.ts";
import { createWatchedReader, IdleError } from "../streams/watched_reader.ts";
import { CallerLeft } from "../upstream/call.ts";
import { reasonOf, silentUpstream } from "../upstream/failure.ts";
import { secretsOf } from "../upstream/secrets.ts";
import type { Attempt } from "./attempt.ts";

/** So much of an answer is read at once, in bytes, until it shows in what pieces it comes. */
const FIRST_BYTES = 16 * 1024;

/** How an answer's body is read. */
interface OpenBodyOptions {
  readonly deadlines: Deadlines;
  /** Most bytes of a chunk; default: as many as come. */
  readonly mostBytes?: number | undefined;
}

/**
 * Most bytes of a chunk that is to be translated: what somebody wrote to hold the event loop takes a microsecond a byte.
 */
export const TRANSLATED_BYTES: number = 16 * 1024;

/**
 * Reads the body of an answer as it comes from the upstream, whose silence is counted here and nowhere else, with
 * what must not be seen in it covered. Throws `IdleError` when the upstream is silent for too long, and the reason
 * of the attempt's signal when that aborts.
 */
export function openBody(
  body: ByteSource,
  { deployment: { connection }, controller: { signal } }: Attempt,
  { deadlines, mostBytes }: OpenBodyOptions,
): ByteReader {
  const chunks = createByteReader(body, { firstBytes: FIRST_BYTES, mostBytes });
  const reader = createWatchedReader(chunks, {
    deadlines,
    idleMs: connection.timeouts.idleMs,
    signal,
  });
  return secretsOf(connection).cover(reader);
}

/** Finds out what the chunks at the beginning of an answer mean. */
export interface BeginningJudge<Verdict extends object> {
  /** Takes the next chunk; `undefined` while it is not clear. */
  push(chunk: Uint8Array): Verdict | undefined;
  /** Told that the answer has ended. */
  end(): Verdict;
}

/** How the beginning of an answer is held back. */
interface HoldBackOptions<Verdict extends object> {
  readonly judge: BeginningJudge<Verdict>;
  readonly deadlines: Deadlines;
  /** Until when it must be clear, in milliseconds from now; `undefined` when it may take its time. */
  readonly outputMs: number | undefined;
  /** Whether the caller waits as long as the answer takes; default false. */
  readonly isPatient?: boolean;
}

/** A caller waits no longer than this for what is there, in milliseconds. */
const MAX_HOLD_MS = 15_000;

/**
 * Sees an answer's beginning before it is given away: up to the first output, for nothing may be sent again
 * after that. What was seen is still to be read, byte for byte.
 *
 * @returns What the judge found; `undefined` when the caller has waited long enough, and is to have what is there.
 * @throws {GatewayError} `timeout` when it is not clear in time.
 * @throws Whatever the source and the judge throw.
 */
export async function holdBack<Verdict extends object>(
  source: LookAhead,
  { judge, deadlines, outputMs, isPatient = false }: HoldBackOptions<Verdict>,
): Promise<Verdict | undefined> {
  let isLate = false;

  async function look(): Promise<Verdict | undefined> {
    let found: Verdict | undefined;
    while (found === undefined) {
      const read = await source.peek();
      if (isLate) break;
      found = read.done ? judge.end() : judge.push(read.value);
    }
    return found;
  }

  if (isPatient) return await look();
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
 * How an answer ended by its own words: with its protocol's own end, with an error in place of that, or before it was
 * over.
 */
export type AnswerEnd = "whole" | "failed" | "cut";

/** What is known of an answer when it has ended. */
interface AnswerEnding {
  readonly answerEnd: AnswerEnd;
  readonly record: RequestRecord;
  /** What failed it, as far as it says. */
  readonly failure?: Failure | undefined;
  /** Of the attempt. */
  readonly signal: AbortSignal;
}

/**
 * How a request ended whose answer went out as it came; notes why. Who has the whole answer has it, however the
 * connections end afterwards: Codex leaves as soon as it has read the last event.
 */
export function endingOf(
  end: PassThroughEnd,
  { answerEnd, failure, record: { facts }, signal }: AnswerEnding,
): Ending {
  if (answerEnd === "whole") return "complete";
  if (signal.aborted && !(signal.reason instanceof CallerLeft)) {
    facts.reason = "the gateway shuts down";
    return "error";
  }
  if (answerEnd === "failed") {
    facts.reason = "its answer ended with an error";
    if (failure !== undefined) {
      facts.failure = FAILURE_WORD_BY_KIND[failure.kind];
    }
    // What is too long did not break off: the gateway gave it up.
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
      facts.reason = "the caller stopped reading";
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
