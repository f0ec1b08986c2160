import { NANOS_PER_DOLLAR } from "../core/nano_dollars.ts";
import type { Clock } from "../core/time/timers.ts";
import type { Usage } from "../protocols/canonical/answer/answer.ts";
import { createChunkGaps } from "./chunk_gaps.ts";
import {
  type AnswerFacts,
  type Ending,
  type RequestFacts,
  servedModel,
} from "./facts.ts";
import type { Log } from "./log.ts";
import type { EventFields } from "./log_events.ts";
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
interface RecordOptions {
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

/** What is the caller's text, or an upstream's, is cut where it is long, in characters. */
const MAX_LENGTH = {
  method: 16,
  model: 128,
  upstreamRequestId: 128,
  word: 32,
};

/** What the line of a request tells beside what became known on its way. */
interface LineEnds {
  readonly requestId: string;
  readonly totalMs: number;
  readonly ending: Ending;
}

type Line = EventFields<"request">;

/** Returns what is known of a request, as the fields of its line in the log. */
function factsLine(
  facts: RequestFacts,
  { requestId, totalMs, ending }: LineEnds,
): Line {
  return {
    request_id: requestId,
    token: facts.caller,
    method: facts.method.slice(0, MAX_LENGTH.method),
    route: facts.route,
    body_protocol: facts.bodyProtocol,
    model: facts.model?.slice(0, MAX_LENGTH.model),
    alias: facts.alias,
    served_model: standIn(facts),
    upstream_model: facts.upstreamModel,
    connection: facts.connection,
    mode: facts.mode,
    attempts: attemptLines(facts),
    status: facts.status,
    bytes_in: facts.bytesIn,
    bytes_out: facts.bytesOut,
    first_byte_ms: roundMs(facts.answer.firstByteMs),
    first_output_ms: roundMs(facts.answer.firstOutputMs),
    usage: usageLine(facts.answer),
    cost_usd: dollars(facts.answer.costNanos),
    by_model: facts.answer.byModel?.map(({ model, usage, costNanos }) => ({
      model,
      ...countsLine(usage),
      cost_usd: dollars(costNanos),
    })),
    dropped: facts.answer.dropped,
    reasoning_dropped: facts.answer.reasoningDropped,
    dropped_parts: facts.answer.droppedParts,
    upstream_request_id: facts.answer.upstreamRequestId?.slice(
      0,
      MAX_LENGTH.upstreamRequestId,
    ),
    upstream_status: facts.answer.upstreamStatus,
    error: facts.error,
    failure: facts.failure,
    reason: facts.reason,
    limit: facts.limit,
    group: facts.group,
    session: facts.client?.session,
    agent: facts.client?.agent,
    client_request_id: facts.client?.requestId,
    total_ms: roundedMs(totalMs),
    ended: ending,
  };
}

/** The model that served, if it is another than the one that was asked for. */
function standIn(facts: RequestFacts): string | undefined {
  const served = servedModel(facts);
  return served === facts.model ? undefined : served;
}

function dollars(nanos: number | undefined): number | undefined {
  return nanos === undefined ? undefined : nanos / NANOS_PER_DOLLAR;
}

/** A single one is told by the fields around it. */
function attemptLines(
  { attempts, answer: { upstreamStatus, firstByteMs } }: RequestFacts,
): Line["attempts"] {
  if (attempts.length < 2) return undefined;
  return attempts.map(({ connection, model, startedMs, failed }) => ({
    connection,
    model,
    status: failed === undefined ? upstreamStatus : failed.status,
    failure: failed?.why,
    ms: roundMs((failed?.atMs ?? firstByteMs ?? startedMs) - startedMs),
  }));
}

function usageLine(
  { usage, isUsageEstimated }: AnswerFacts,
): Line["usage"] {
  return usage && {
    ...countsLine(usage),
    speed: usage.speed?.slice(0, MAX_LENGTH.word),
    service_tier: usage.serviceTier?.slice(0, MAX_LENGTH.word),
    ...(isUsageEstimated ? { estimated: true } : {}),
  };
}

function countsLine(usage: Usage): NonNullable<Line["usage"]> {
  return {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    cache_write_1h_tokens: usage.cacheWrite1hTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
  };
}

function roundMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : roundedMs(ms);
}

/** Milliseconds for the log: microseconds are enough. */
function roundedMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
