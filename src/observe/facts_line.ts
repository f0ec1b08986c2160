import { NANOS_PER_DOLLAR } from "../core/nano_dollars.ts";
import type { LogFields } from "./log.ts";
import type { AnswerFacts, Ending, RequestFacts } from "./facts.ts";

/** What is the caller's text, or an upstream's, is cut where it is long, in characters. */
const MAX_LENGTH = {
  method: 16,
  model: 128,
  upstreamRequestId: 128,
};

/** What the line of a request tells beside what became known on its way. */
export interface LineEnds {
  readonly requestId: string;
  readonly totalMs: number;
  readonly ending: Ending;
}

/** What is known of a request, as fields of its line in the log; what is not known has no value. */
export function factsLine(
  facts: RequestFacts,
  { requestId, totalMs, ending }: LineEnds,
): LogFields {
  return {
    request_id: requestId,
    token: facts.caller,
    method: facts.method.slice(0, MAX_LENGTH.method),
    route: facts.route,
    body_protocol: facts.bodyProtocol,
    model: facts.model?.slice(0, MAX_LENGTH.model),
    alias: facts.alias,
    served_model: servedModel(facts),
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
    dropped: facts.answer.dropped,
    dropped_parts: facts.answer.droppedParts,
    upstream_request_id: facts.answer.upstreamRequestId?.slice(
      0,
      MAX_LENGTH.upstreamRequestId,
    ),
    upstream_status: facts.answer.upstreamStatus,
    error: facts.error,
    failure: facts.failure,
    reason: facts.reason,
    session: facts.client?.session,
    agent: facts.client?.agent,
    client_request_id: facts.client?.requestId,
    total_ms: roundMs(totalMs),
    ended: ending,
  };
}

/** Only where another one stood in. */
function servedModel({ attempts, model }: RequestFacts): string | undefined {
  const served = attempts.at(-1)?.model;
  return served === model ? undefined : served;
}

function dollars(nanos: number | undefined): number | undefined {
  return nanos === undefined ? undefined : nanos / NANOS_PER_DOLLAR;
}

/** A single one is told by the fields around it. */
function attemptLines(
  { attempts, answer: { upstreamStatus, firstByteMs } }: RequestFacts,
): readonly LogFields[] | undefined {
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
): LogFields | undefined {
  return usage && {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    ...(isUsageEstimated ? { estimated: true } : {}),
  };
}

/** Milliseconds for the log: microseconds are enough. */
function roundMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 1000) / 1000;
}
