import { NANOS_PER_DOLLAR } from "../core/nano_dollars.ts";
import type { Usage } from "../protocols/canonical/answer/usage.ts";
import {
  type AnswerFacts,
  type Ending,
  type RequestFacts,
  servedModel,
} from "./facts.ts";
import type { EventFields } from "./log_events.ts";

/** What is the caller's text, or an upstream's, is cut where it is long, in characters. */
const MAX_LENGTH = {
  method: 16,
  model: 128,
  upstreamRequestId: 128,
  word: 32,
};

/** What the line of a request tells beside what became known on its way. */
export interface LineEnds {
  readonly requestId: string;
  readonly totalMs: number;
  readonly ending: Ending;
}

type Line = EventFields<"request">;

/** Returns what is known of a request, as the fields of its line in the log. */
export function factsLine(
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
