import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Every metric of one gateway; docs/observing.md explains each. */
export interface Instruments {
  readonly requests: Counter<
    "route" | "protocol" | "mode" | "status" | "ended"
  >;
  readonly inFlight: Gauge;
  readonly bodyMemory: Gauge;
  readonly abandonedHandshakes: Gauge;
  readonly requestBytes: Counter<"route">;
  readonly answerBytes: Counter<"route">;
  readonly duration: Histogram<"route" | "mode">;
  readonly firstByte: Histogram<"connection" | "model">;
  readonly firstOutput: Histogram<"connection" | "model">;
  readonly tokens: Counter<"kind" | "connection" | "model">;
  readonly callerRequests: Counter<"token" | "ended">;
  readonly callerTokens: Counter<"token" | "kind">;
  readonly cost: Counter<"connection" | "model">;
  readonly callerCost: Counter<"token">;
  readonly callerLimits: Counter<"token" | "limit" | "outcome">;
  readonly attempts: Counter<"connection" | "status">;
  readonly shortages: Counter;
  readonly coolDowns: Counter<"connection" | "failure">;
  readonly moves: Counter<"connection" | "reason">;
  readonly droppedFields: Counter<"field">;
  readonly quotaLimit: Gauge<QuotaLabel>;
  readonly quotaRemaining: Gauge<QuotaLabel>;
  readonly quotaUsed: Gauge<QuotaLabel>;
  readonly quotaResets: Gauge<QuotaLabel>;
  readonly groupQuotaUsed: Gauge<QuotaLabel | "group">;
  readonly limitUsed: Gauge<LimitLabel>;
  readonly limitRemaining: Gauge<LimitLabel>;
  readonly limitResets: Gauge<LimitLabel>;
  readonly lag: Histogram;
}

/** The labels that identify a quota window. */
export type QuotaLabel = "connection" | "type" | "window" | "unit";

const QUOTA_LABELS = ["connection", "type", "window", "unit"] as const;

/** The labels that identify a limit. */
type LimitLabel = "scope" | "name" | "limit";

const LIMIT_LABELS = ["scope", "name", "limit"] as const;

const MODEL_LABELS = ["connection", "model"] as const;

/** The buckets of durations, from the milliseconds of a short answer to the many minutes of a long one. */
const ANSWER_SECONDS = [
  ...[0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ...[30, 60, 120, 300, 600],
];

const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Defines the metrics of one gateway in a registry. */
export function createInstruments(registry: Registry): Instruments {
  const define = { registers: [registry] };
  return {
    ...requestInstruments(define),
    ...connectionInstruments(define),
    ...tokenInstruments(define),
    ...quotaInstruments(define),
    ...limitInstruments(define),
    lag: new Histogram({
      ...define,
      name: "model_gateway_event_loop_lag_seconds",
      help:
        "Delay of a timer, which is the time that requests wait for the thread",
      buckets: LAG_SECONDS,
    }),
  };
}

interface Define {
  readonly registers: Registry[];
}

function requestInstruments(define: Define) {
  return {
    requests: new Counter({
      ...define,
      name: "model_gateway_requests_total",
      help: "Requests that have ended",
      labelNames: ["route", "protocol", "mode", "status", "ended"] as const,
    }),
    inFlight: new Gauge({
      ...define,
      name: "model_gateway_requests_in_flight",
      help: "Requests to models that are being served",
    }),
    bodyMemory: new Gauge({
      ...define,
      name: "model_gateway_body_memory_bytes",
      help: "Memory of the callers' bodies and of their translations",
    }),
    abandonedHandshakes: new Gauge({
      ...define,
      name: "model_gateway_abandoned_handshakes",
      help: "TLS handshakes given up whose descriptors providers keep open",
    }),
    requestBytes: new Counter({
      ...define,
      name: "model_gateway_request_body_bytes_total",
      help: "Bytes of the callers' bodies, decompressed",
      labelNames: ["route"] as const,
    }),
    answerBytes: new Counter({
      ...define,
      name: "model_gateway_answer_body_bytes_total",
      help: "Bytes of the answers' bodies",
      labelNames: ["route"] as const,
    }),
    duration: new Histogram({
      ...define,
      name: "model_gateway_request_duration_seconds",
      help: "From the arrival of a request to the end of its answer",
      labelNames: ["route", "mode"] as const,
      buckets: ANSWER_SECONDS,
    }),
    firstByte: new Histogram({
      ...define,
      name: "model_gateway_first_byte_seconds",
      help: "From the arrival of a request to its provider's response headers",
      labelNames: MODEL_LABELS,
      buckets: ANSWER_SECONDS,
    }),
    firstOutput: new Histogram({
      ...define,
      name: "model_gateway_first_output_seconds",
      help: "From the arrival of a request to the first output of its answer",
      labelNames: MODEL_LABELS,
      buckets: ANSWER_SECONDS,
    }),
    droppedFields: new Counter({
      ...define,
      name: "model_gateway_dropped_fields_total",
      help: "Request fields that a translation left out",
      labelNames: ["field"] as const,
    }),
  };
}

function connectionInstruments(define: Define) {
  return {
    attempts: new Counter({
      ...define,
      name: "model_gateway_attempts_total",
      help:
        "Attempts, by the status of the provider's response; none: no response came",
      labelNames: ["connection", "status"] as const,
    }),
    shortages: new Counter({
      ...define,
      name: "model_gateway_shortages_total",
      help:
        "Attempts for which the gateway's own machine had no descriptor, port or memory",
    }),
    coolDowns: new Counter({
      ...define,
      name: "model_gateway_cool_downs_total",
      help: "Cool-downs of a connection, by the failure that caused them",
      labelNames: ["connection", "failure"] as const,
    }),
    moves: new Counter({
      ...define,
      name: "model_gateway_conversation_moves_total",
      help: "Conversations that left a connection, by the reason",
      labelNames: ["connection", "reason"] as const,
    }),
  };
}

function tokenInstruments(define: Define) {
  return {
    tokens: new Counter({
      ...define,
      name: "model_gateway_tokens_total",
      help:
        "Tokens by kind: input includes cached_input and cache_write, output includes reasoning",
      labelNames: ["kind", ...MODEL_LABELS] as const,
    }),
    callerRequests: new Counter({
      ...define,
      name: "model_gateway_caller_requests_total",
      help: "Requests that have ended, by the name of the caller's token",
      labelNames: ["token", "ended"] as const,
    }),
    callerTokens: new Counter({
      ...define,
      name: "model_gateway_caller_tokens_total",
      help: "Tokens by kind, by the name of the caller's token",
      labelNames: ["token", "kind"] as const,
    }),
    cost: new Counter({
      ...define,
      name: "model_gateway_cost_usd_total",
      help: "Cost in US dollars, for models that have a price",
      labelNames: MODEL_LABELS,
    }),
    callerCost: new Counter({
      ...define,
      name: "model_gateway_caller_cost_usd_total",
      help: "Cost in US dollars, by the name of the caller's token",
      labelNames: ["token"] as const,
    }),
    callerLimits: new Counter({
      ...define,
      name: "model_gateway_caller_limits_total",
      help:
        "Callers at their limits: near is counted once per window, refused for every request",
      labelNames: ["token", "limit", "outcome"] as const,
    }),
  };
}

/**
 * Defines the quota metrics. Each thread knows its own quotas; of several values, the one nearest to exhaustion counts.
 */
function quotaInstruments(define: Define) {
  const labelNames = QUOTA_LABELS;
  return {
    quotaLimit: new Gauge({
      ...define,
      name: "model_gateway_quota_limit",
      help: "Size of a quota window, in its unit",
      labelNames,
      aggregator: "max",
    }),
    quotaRemaining: new Gauge({
      ...define,
      name: "model_gateway_quota_remaining",
      help: "Remaining quota of a window, in its unit",
      labelNames,
      aggregator: "min",
    }),
    quotaUsed: new Gauge({
      ...define,
      name: "model_gateway_quota_used_ratio",
      help: "Used share of a quota window; above 1 when it is exceeded",
      labelNames,
      aggregator: "max",
    }),
    quotaResets: new Gauge({
      ...define,
      name: "model_gateway_quota_resets_timestamp_seconds",
      help: "Reset time of a quota window, in seconds since 1970",
      labelNames,
      aggregator: "max",
    }),
    groupQuotaUsed: new Gauge({
      ...define,
      name: "model_gateway_group_quota_used_ratio",
      help: "Estimated share of a quota window that a group of tokens used",
      labelNames: ["group", ...QUOTA_LABELS] as const,
      aggregator: "max",
    }),
  };
}

/** Defines the metrics of limits. Threads count together, so their values differ only while they synchronize. */
function limitInstruments(define: Define) {
  const labelNames = LIMIT_LABELS;
  return {
    limitUsed: new Gauge({
      ...define,
      name: "model_gateway_limit_used_ratio",
      help: "Used share of a limit of a token or group; above 1: exceeded",
      labelNames,
      aggregator: "max",
    }),
    limitRemaining: new Gauge({
      ...define,
      name: "model_gateway_limit_remaining",
      help:
        "Rest of a limit in requests, tokens or US dollars; of a share, the part of the quota window",
      labelNames,
      aggregator: "min",
    }),
    limitResets: new Gauge({
      ...define,
      name: "model_gateway_limit_resets_timestamp_seconds",
      help: "Reset time of a limit, in seconds since 1970",
      labelNames,
      aggregator: "max",
    }),
  };
}
