import { type Ending, FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Failure } from "../protocols/canonical/failure/failure.ts";
import type { PassThroughEnd } from "../streams/pass_through.ts";
import { IdleError } from "../streams/watched_reader.ts";
import { CallerLeft } from "../upstream/call.ts";
import { reasonOf } from "../upstream/failure.ts";

/**
 * How an answer ended by its own words: with its protocol's own end, with an error in place of that, or before it was
 * over.
 */
export type AnswerEnd = "whole" | "failed" | "cut";

/** What is known of an answer when it has ended. */
export interface AnswerEnding {
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
