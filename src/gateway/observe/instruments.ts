import {
  Counter,
  Gauge,
  Histogram,
  type Registry,
} from "@prometheus-io/client";

/** The labels that identify a quota window. */
const QUOTA = ["connection", "type", "window", "unit"] as const;

/** The labels that identify a limit. */
const LIMIT = ["scope", "name", "limit"] as const;

const MODEL = ["connection", "model"] as const;

/** The buckets of durations, from the milliseconds of a short answer to the many minutes of a long answer. */
const ANSWER_SECONDS = [
  ...[0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ...[30, 60, 120, 300, 600],
];

const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Every metric of one gateway; docs/observing.md explains each. */
export type Instruments = ReturnType<typeof define>;

/** Defines the metrics of one gateway in a registry. */
export function createInstruments(registry: Registry): Instruments {
  return define(registry);
}

/** {@linkcode Instruments} is the return type of this function, so that each metric is written once. */
function define(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ) => new Counter({ registers, name, help, labelNames });
  const seconds = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    buckets: number[] = ANSWER_SECONDS,
  ) => new Histogram({ registers, name, help, labelNames, buckets });
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    /** How the values of several threads are combined. */
    aggregator: "sum" | "max" | "min" = "sum",
  ) => new Gauge({ registers, name, help, labelNames, aggregator });
  return {
    requests: counter(
      "model_gateway_requests_total",
      "Requests that have ended",
      ["route", "protocol", "mode", "status", "ended"],
    ),
    inFlight: gauge(
      "model_gateway_requests_in_flight",
      "Requests to models that are being served",
    ),
    waiting: gauge(
      "model_gateway_requests_waiting",
      "Requests to models that wait for their turn",
    ),
    waits: seconds(
      "model_gateway_wait_seconds",
      "Time for which requests waited for their turn, by the reason",
      ["reason"],
    ),
    bodyMemory: gauge(
      "model_gateway_body_memory_bytes",
      "Memory of the callers' bodies and of their translations",
    ),
    abandonedHandshakes: gauge(
      "model_gateway_abandoned_handshakes",
      "Abandoned TLS handshakes whose descriptors providers keep open",
    ),
    requestBytes: counter(
      "model_gateway_request_body_bytes_total",
      "Bytes of the callers' bodies, decompressed",
      ["route"],
    ),
    answerBytes: counter(
      "model_gateway_answer_body_bytes_total",
      "Bytes of the answers' bodies",
      ["route"],
    ),
    duration: seconds(
      "model_gateway_request_duration_seconds",
      "From the arrival of a request to the end of its answer",
      ["route", "mode"],
    ),
    firstByte: seconds(
      "model_gateway_first_byte_seconds",
      "From the arrival of a request to its provider's response headers",
      MODEL,
    ),
    firstOutput: seconds(
      "model_gateway_first_output_seconds",
      "From the arrival of a request to the first output of its answer",
      MODEL,
    ),
    droppedFields: counter(
      "model_gateway_dropped_fields_total",
      "Request fields that a translation left out",
      ["field"],
    ),
    attempts: counter(
      "model_gateway_attempts_total",
      "Attempts, by the status of the provider's response; none: no response came",
      ["connection", "status"],
    ),
    shortages: counter(
      "model_gateway_shortages_total",
      "Attempts for which the gateway's own machine had no descriptor, port or memory",
    ),
    coolDowns: counter(
      "model_gateway_cool_downs_total",
      "Cool-downs of a connection, by the failure that caused them",
      ["connection", "failure"],
    ),
    moves: counter(
      "model_gateway_conversation_moves_total",
      "Conversations that left a connection, by the reason",
      ["connection", "reason"],
    ),
    substitutions: counter(
      "model_gateway_model_substitutions_total",
      "Answers that name a model which the request did not ask for, by the requested model",
      MODEL,
    ),
    cacheMisses: counter(
      "model_gateway_cache_misses_total",
      "Turns that read far less from the prompt cache than they could, by the cause",
      [...MODEL, "cause"],
    ),
    cacheMissTokens: counter(
      "model_gateway_cache_miss_tokens_total",
      "Input tokens that the prompt cache could have held, by the cause",
      [...MODEL, "cause"],
    ),
    droppedReasoning: counter(
      "model_gateway_dropped_reasoning_total",
      "Requests whose earlier reasoning was left out or dropped, by the reason",
      [...MODEL, "reason"],
    ),
    tokens: counter(
      "model_gateway_tokens_total",
      "Tokens by kind: input includes cached_input and cache_write, output includes reasoning",
      ["kind", ...MODEL],
    ),
    callerRequests: counter(
      "model_gateway_caller_requests_total",
      "Requests that have ended, by the name of the caller's token",
      ["token", "ended"],
    ),
    callerTokens: counter(
      "model_gateway_caller_tokens_total",
      "Tokens by kind, by the name of the caller's token",
      ["token", "kind"],
    ),
    cost: counter(
      "model_gateway_cost_usd_total",
      "Cost in US dollars, for models that have a price",
      MODEL,
    ),
    callerCost: counter(
      "model_gateway_caller_cost_usd_total",
      "Cost in US dollars, by the name of the caller's token",
      ["token"],
    ),
    callerLimits: counter(
      "model_gateway_caller_limits_total",
      "Callers at their limits: near is counted once per window, refused for every request",
      ["token", "limit", "outcome"],
    ),
    // Each thread knows only the quotas that it has read. If threads have different values, the value nearest to
    // exhaustion counts.
    quotaLimit: gauge(
      "model_gateway_quota_limit",
      "Size of a quota window, in its unit",
      QUOTA,
      "max",
    ),
    quotaRemaining: gauge(
      "model_gateway_quota_remaining",
      "Remaining quota of a window, in its unit",
      QUOTA,
      "min",
    ),
    quotaUsed: gauge(
      "model_gateway_quota_used_ratio",
      "Used share of a quota window; above 1 when it is exceeded",
      QUOTA,
      "max",
    ),
    quotaResets: gauge(
      "model_gateway_quota_resets_timestamp_seconds",
      "Reset time of a quota window, in seconds since 1970",
      QUOTA,
      "max",
    ),
    groupQuotaUsed: gauge(
      "model_gateway_group_quota_used_ratio",
      "Estimated share of a quota window that a group of tokens used",
      ["group", ...QUOTA],
      "max",
    ),
    // Threads count limits together. The values of two threads differ only until the threads have synchronized.
    limitUsed: gauge(
      "model_gateway_limit_used_ratio",
      "Used share of a limit of a token or group; above 1: exceeded",
      LIMIT,
      "max",
    ),
    limitRemaining: gauge(
      "model_gateway_limit_remaining",
      "Rest of a limit in requests, tokens or US dollars; for a share, as a part of the quota window",
      LIMIT,
      "min",
    ),
    limitResets: gauge(
      "model_gateway_limit_resets_timestamp_seconds",
      "Reset time of a limit, in seconds since 1970",
      LIMIT,
      "max",
    ),
    lag: seconds(
      "model_gateway_event_loop_lag_seconds",
      "Delay of a timer, which is the time that requests wait for the thread",
      [],
      LAG_SECONDS,
    ),
  };
}
