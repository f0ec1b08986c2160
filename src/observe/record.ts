import type { Clock } from "../core/clock.ts";
import type { Protocol } from "../core/protocol.ts";
import type { Usage } from "../protocols/canonical/answer/usage.ts";
import { type ChunkGaps, createChunkGaps } from "./chunk_gaps.ts";
import { factsLine, roundMs } from "./facts_line.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/**
 * How a request ended: the caller has the whole answer; the caller left; the upstream's answer broke off; or
 * the caller got an error of the gateway.
 */
export type Ending = "complete" | "client_abort" | "upstream_broken" | "error";

/** One call of one connection. */
export interface AttemptFacts {
  /** The connection's name. */
  readonly connection: string;
  /** The model as callers know it. */
  readonly model: string;
  /** When it began, in milliseconds since the request came. */
  readonly startedMs: number;
  /** How it failed; absent when it gave the answer. */
  failed?: {
    /** In one word. */
    readonly why: string;
    /** The upstream's status, where it answered. */
    readonly status: number | undefined;
    /** In milliseconds since the request came. */
    readonly atMs: number;
  };
}

/** What is learnt about a request on its way; written as one log line when it ends. */
export interface RequestFacts {
  /** The token's name. */
  caller?: string;
  method: string;
  /** The route's pattern, never the path as it came. */
  route?: string;
  /** The protocol of the path. */
  protocol?: Protocol;
  model?: string;
  upstreamModel?: string;
  /** The connection's name. */
  connection?: string;
  mode?: "native" | "translated";
  /** Every call of a connection, in order; the fields around tell more of the last. */
  readonly attempts: AttemptFacts[];
  status?: number;
  /** Of the caller's body, decompressed. */
  bytesIn: number;
  /** Of the answer's body. */
  bytesOut: number;
  firstByteMs?: number;
  firstOutputMs?: number;
  usage?: Usage;
  /** Between the chunks of a streamed answer; only where metrics are wanted. */
  chunkGaps?: ChunkGaps;
  /** Why the model stopped, in the canonical word; only of translated answers. */
  stopReason?: string;
  /** Request fields that a translation left out, in the caller's spelling. */
  dropped?: readonly string[];
  /** Parts of the answer that the caller's protocol cannot show. */
  droppedParts?: readonly string[];
  /** The upstream's own id of the request. */
  upstreamRequestId?: string;
  /** What the upstream answered, where the caller got something else. */
  upstreamStatus?: number;
  /** The kind or code of the error that the caller got. */
  error?: string;
  /** Why, for the administrator. */
  reason?: string;
}

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
  readonly finished: boolean;
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
    get finished() {
      return ended !== undefined;
    },
    finish(ending) {
      if (ended !== undefined) return;
      ended = ending;
      // What keeps the record keeps nothing else of the request any more.
      for (const react of reactions.splice(0)) react(ending);
      const totalMs = elapsedMs();
      log.write("info", "request", {
        request_id: requestId,
        ...factsLine(facts),
        total_ms: roundMs(totalMs),
        ended: ending,
      });
      metrics?.requestEnded({ facts, ending, totalMs });
    },
    onFinish(react) {
      if (ended !== undefined) react(ended);
      else reactions.push(react);
    },
  };
}
