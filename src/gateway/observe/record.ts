import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { Clock } from "@gateway/base/time/timers";
import type { Usage } from "@gateway/codecs";
import { createChunkGaps } from "./chunk_gaps.ts";
import {
  type AnswerFacts,
  isUnsent,
  type RequestFacts,
  servedModel,
} from "./facts.ts";
import type { Log } from "./log.ts";
import type { EventFields } from "./log_events.ts";
import type { REQUEST_FIELDS } from "./log_fields.ts";
import type { EndedRequest, Metrics } from "./metrics.ts";

/** The record of one request. */
export interface RequestRecord {
  readonly requestId: string;
  readonly facts: RequestFacts;
  /** Returns the milliseconds since the request arrived. */
  elapsedMs(): number;
  /** Returns the function to call at each chunk of a streamed response; `undefined` when chunks are not counted. */
  watchChunks(): (() => void) | undefined;
  /** Marks the request as ended. Returns false when the request was already marked. */
  finish(): boolean;
  /** Returns true after {@linkcode RequestRecord.finish} was called. */
  isFinished(): boolean;
  /** Writes the log line of the request. */
  writeLine(ended: EndedRequest): void;
  /** Counts the request in the metrics. */
  count(ended: EndedRequest): void;
}

/** The targets of a request's record. */
interface RecordOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
}

/** Opens the record of a request that has just arrived. */
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
  let hasEnded = false;
  return {
    requestId,
    facts,
    elapsedMs: () => clock.elapsedMs() - startedMs,
    watchChunks() {
      if (metrics === undefined) return undefined;
      const gaps = createChunkGaps();
      facts.chunkGaps = gaps;
      return () => gaps.note(clock.elapsedMs());
    },
    isFinished: () => hasEnded,
    finish: () => !hasEnded && (hasEnded = true),
    writeLine: (ended) => log.write("request", requestLine(requestId, ended)),
    count: (ended) => metrics?.requestEnded(ended),
  };
}

/** The longest texts of callers and upstreams in the log, in characters. Longer texts are cut. */
const MAX_LENGTH = {
  method: 16,
  model: 128,
  upstreamRequestId: 128,
  word: 32,
};

/** Every field of the line of a request. A field that is not written is a compile error. */
type Line = {
  readonly [Name in keyof typeof REQUEST_FIELDS]: EventFields<"request">[Name];
};

/**
 * Returns the facts of a request as the fields of its log line, `REQUEST_FIELDS`. The code is one literal in the order
 * of the line: a loop over the rows takes five times as long.
 */
function requestLine(
  requestId: string,
  { facts, totalMs, ending }: EndedRequest,
): Line {
  return {
    request_id: requestId,
    token: facts.caller,
    token_group: facts.callerGroup,
    attribution: facts.attribution,
    method: facts.method.slice(0, MAX_LENGTH.method),
    route: facts.route,
    body_protocol: facts.bodyProtocol,
    model: facts.model?.slice(0, MAX_LENGTH.model),
    alias: facts.alias,
    served_model: servedIfOther(facts),
    upstream_model: facts.upstreamModel,
    substitute_model: facts.answer.substitute?.slice(0, MAX_LENGTH.model),
    connection: facts.connection,
    region: facts.region,
    mode: facts.mode,
    moved_from: facts.moved?.from,
    moved_for: facts.moved?.why,
    waited_ms: roundMs(facts.waitedMs),
    waited_for: facts.waitedFor,
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
    cache_miss: facts.answer.cacheMiss?.why,
    cache_miss_at: facts.answer.cacheMiss?.at,
    cache_miss_tokens: facts.answer.cacheMiss?.tokens,
    cache_miss_usd: dollars(facts.answer.cacheMiss?.costNanos),
    dropped: facts.answer.dropped,
    lesson: facts.answer.lessons,
    reasoning_dropped: facts.answer.reasoningDropped,
    dropped_parts: facts.answer.droppedParts,
    upstream_request_id: facts.answer.upstreamRequestId?.slice(
      0,
      MAX_LENGTH.upstreamRequestId,
    ),
    upstream_status: facts.answer.upstreamStatus,
    error: facts.error,
    failure: facts.failure ?? unsentOnly(facts),
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

/** Returns the model that served, if it is not the requested model. */
function servedIfOther(facts: RequestFacts): string | undefined {
  const served = servedModel(facts);
  return served === facts.model ? undefined : served;
}

function dollars(nanos: number | undefined): number | undefined {
  return nanos === undefined ? undefined : nanos / NANOS_PER_DOLLAR;
}

/** If the only attempt was not sent, returns the failure of this attempt. A reader of the log then counts no use. */
function unsentOnly({ attempts }: RequestFacts): Line["failure"] {
  const [only, ...others] = attempts;
  const why = only?.failed?.why;
  return others.length === 0 && isUnsent(why) ? why : undefined;
}

/** Returns the attempts, if there were several. A single attempt is described by the other fields. */
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
    inference_geo: usage.inferenceGeo?.slice(0, MAX_LENGTH.word),
    refusal: usage.refusal?.slice(0, MAX_LENGTH.word),
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

/** Returns milliseconds for the log, rounded to microseconds. */
function roundedMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
