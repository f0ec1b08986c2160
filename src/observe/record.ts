import type { Clock } from "../core/time/clock.ts";
import { createChunkGaps } from "./chunk_gaps.ts";
import type { Ending, RequestFacts } from "./facts.ts";
import { factsLine } from "./facts_line.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** The record of one request. */
export interface RequestRecord {
  readonly requestId: string;
  readonly facts: RequestFacts;
  /** Milliseconds since the request came. */
  elapsedMs(): number;
  /** What is to be called at each chunk of a streamed answer; `undefined` where nobody counts. */
  watchChunks(): (() => void) | undefined;
  /** Runs what was registered and writes the line; only the first call counts. */
  finish(ending: Ending): void;
  /** Whether {@linkcode RequestRecord.finish} was called. */
  isFinished(): boolean;
  /** Registers what is to be done when the request ends; done at once if it has. */
  onFinish(react: (ending: Ending) => void): void;
}

/** Where the record of a request goes when it ends. */
export interface RecordOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
}

/** Opens the record of a request that has just come. */
export function openRecord(
  requestId: string,
  method: string,
  { clock, log, metrics }: RecordOptions,
): RequestRecord {
  const startedMs = clock.elapsedMs();
  const facts: RequestFacts = {
    method,
    attempts: [],
    answer: {},
    bytesIn: 0,
    bytesOut: 0,
  };
  const reactions: ((ending: Ending) => void)[] = [];
  let ended: Ending | undefined;
  const elapsedMs = () => clock.elapsedMs() - startedMs;
  return {
    requestId,
    facts,
    elapsedMs,
    watchChunks() {
      if (metrics === undefined) return undefined;
      const gaps = createChunkGaps();
      facts.chunkGaps = gaps;
      return () => gaps.note(clock.elapsedMs());
    },
    isFinished: () => ended !== undefined,
    finish(ending) {
      if (ended !== undefined) return;
      ended = ending;
      // What keeps the record keeps nothing else of the request any more.
      for (const react of reactions.splice(0)) react(ending);
      const totalMs = elapsedMs();
      const ends = { requestId, totalMs, ending };
      log.write("request", factsLine(facts, ends));
      metrics?.requestEnded({ facts, ending, totalMs });
    },
    onFinish(react) {
      if (ended !== undefined) react(ended);
      else reactions.push(react);
    },
  };
}
