import type { Usage } from "@gateway/codecs";
import type {
  CacheMissWord,
  Ending,
  FailureWord,
  MoveWord,
  WaitWord,
} from "./facts.ts";

/* The fields of the lines of the log. docs/observing.md#events-of-the-log prints the tables of this file. */

/** The description of a field. */
interface LogField<Value> {
  /** The type's name in the documentation. */
  readonly type: string;
  readonly meaning: string;
  /** The fields of an object, or of each object of a list. */
  readonly parts?: Readonly<Record<string, LogField<unknown>>>;
  /** Only for the compiler: carries the type of the field's value. Never present at run time. */
  readonly value?: Value;
}

function text<Word extends string = string>(meaning: string): LogField<Word> {
  return { type: "text", meaning };
}

function number(meaning: string): LogField<number> {
  return { type: "number", meaning };
}

function texts(meaning: string): LogField<readonly string[]> {
  return { type: "texts", meaning };
}

function values(meaning: string): LogField<Readonly<Record<string, string>>> {
  return { type: "object", meaning };
}

type Parts = Readonly<Record<string, LogField<unknown>>>;

/** The value of a field. */
export type ValueOf<Field> = Field extends LogField<infer Value> ? Value
  : never;

type PartValues<Fields extends Parts> = {
  readonly [Name in keyof Fields]?: ValueOf<Fields[Name]> | undefined;
};

function object<Fields extends Parts>(
  meaning: string,
  parts: Fields,
): LogField<PartValues<Fields>> {
  return { type: "object", meaning, parts };
}

function objects<Fields extends Parts>(
  meaning: string,
  parts: Fields,
): LogField<readonly PartValues<Fields>[]> {
  return { type: "objects", meaning, parts };
}

/** The name of a count of tokens in the canonical form. */
export type CountName = Extract<keyof Usage, `${string}Tokens`>;

/** A count of tokens. */
interface TokenCount extends LogField<number> {
  /** The count's name in the canonical form. */
  readonly of: CountName;
  /** The count's name in OpenTelemetry's conventions, after `gen_ai.` or `gen_ai.client.inference.`. */
  readonly traced?: string;
}

function count(of: CountName, meaning: string, traced?: string): TokenCount {
  return { ...number(meaning), of, ...(traced !== undefined && { traced }) };
}

/** The counts of tokens in log lines, in totals of a log, and in spans. */
export const TOKEN_COUNTS = {
  input_tokens: count("inputTokens", "all input", "usage.input_tokens"),
  cached_input_tokens: count(
    "cachedInputTokens",
    "the part read from a cache",
    "usage.cache_read.input_tokens",
  ),
  cache_write_tokens: count(
    "cacheWriteTokens",
    "the part written to a cache",
    "usage.cache_write.input_tokens",
  ),
  cache_write_1h_tokens: count(
    "cacheWrite1hTokens",
    "the part of `cache_write_tokens` that is cached for an hour",
  ),
  output_tokens: count("outputTokens", "all output", "usage.output_tokens"),
  reasoning_tokens: count(
    "reasoningTokens",
    "the part that is reasoning",
    "usage.reasoning.output_tokens",
  ),
} as const;

/** The fields of the line of a request. `record.ts` writes them, and `logged_request.ts` reads them. */
export const REQUEST_FIELDS = {
  request_id: text(
    "the id of the request, which the response has as `x-request-id`",
  ),
  token: text(
    "the name of the caller's token; of an identity provider's caller, the name with the issuer",
  ),
  token_group: text("the caller's group, or groups with commas between them"),
  attribution: values(
    "the headers that `server.attribution` names, with their values",
  ),
  group: text("the group of tokens that the limit belongs to"),
  method: text("the HTTP method, cut to 16 characters"),
  route: text(
    "the pattern of the path; absent when no route matches the path and method",
  ),
  body_protocol: text(
    "the protocol of the body, where it certainly differs from the path's",
  ),
  model: text(
    "the id of the model; in `request` the requested name, if no model has it",
  ),
  alias: text("the requested name, if it is an alias of the model"),
  served_model: text(
    "the model that served, if not `model`: a fallback or the provider's choice",
  ),
  upstream_model: text("the provider's name of the model"),
  substitute_model: text(
    "the model that the answer names, if the request did not ask for it",
  ),
  connection: text(
    "the name of the connection; the last one of several attempts",
  ),
  region: text("the `region` of that connection, if it has one"),
  mode: text<"native" | "translated">("`native` or `translated`"),
  moved_from: text(
    "the connection that served the conversation before, if the conversation moved",
  ),
  moved_for: text<MoveWord>(
    "why the conversation moved: a failure or another of the words below",
  ),
  waited_ms: number("the time for which the request waited for its turn"),
  waited_for: text<WaitWord>(
    "what the request waited for, in one of the words below",
  ),
  attempts: objects("every attempt, where there were several", {
    connection: text("the name of the connection"),
    model: text("the id of the model"),
    status: number("the status of the provider's response"),
    failure: text<FailureWord>("the failure, in one of the words below"),
    ms: number("the time until the response began or the attempt failed"),
  }),
  status: number(
    "the status of the gateway's response; 499 when the caller left before it",
  ),
  bytes_in: number("the bytes read of the request's body, decompressed"),
  bytes_out: number(
    "the bytes of the response's body",
  ),
  first_byte_ms: number(
    "the time until the headers of the provider's response",
  ),
  first_output_ms: number("the time until the first output"),
  usage: object("the tokens of the request, as the provider counts them", {
    ...TOKEN_COUNTS,
    speed: text(
      "the speed at which the request was served, in the provider's word",
    ),
    service_tier: text(
      "the tier that served the request, in the provider's word",
    ),
    inference_geo: text("the region of the inference, in the provider's word"),
    refusal: text("the category of a refusal before any output, or `other`"),
    estimated: flag("the gateway estimated a part of the usage"),
  }),
  cost_usd: number("the cost in US dollars, where the model has a price"),
  by_model: objects(
    "each used model, where there were several; the one that served comes first, and `usage` and `cost_usd` are their sums",
    {
      model: text("the id of the model"),
      ...TOKEN_COUNTS,
      cost_usd: number("the cost in US dollars, where the model has a price"),
    },
  ),
  cache_miss: text<CacheMissWord>(
    "why the turn read far less from the prompt cache than its conversation had stored there, in one of the words below",
  ),
  cache_miss_at: text("the part of the request that had changed"),
  cache_miss_tokens: number("the input tokens that the cache could have held"),
  cache_miss_usd: number(
    "the extra cost of reading those tokens without the cache, in US dollars, where the model has a price",
  ),
  dropped: texts("fields of the request that the gateway left out"),
  lesson: texts("what the gateway changed because of the provider's refusals"),
  reasoning_dropped: texts(
    "the reasons why the request was sent without earlier reasoning",
  ),
  dropped_parts: texts("parts of the answer that the translation left out"),
  upstream_request_id: text("the provider's id of the request"),
  upstream_status: number("the status of the provider's last response"),
  session: text("the client's id of its session"),
  agent: text("the client's id of its agent"),
  client_request_id: text("the client's id of the request"),
  total_ms: number("the time from beginning to end"),
  ended: text<Ending>(
    "`complete`, `client_abort`, `upstream_broken` or `error`",
  ),
  error: text(
    "the code of the gateway's error, or the error's kind if it has no code",
  ),
  failure: text<FailureWord>(
    "the failure, in one of the words below; in `request` the one that reached the caller",
  ),
  reason: text("the reason, in words for people"),
  limit: text(
    "the limit, in words; in `request` the limit that rejected the request",
  ),
} as const;

/** Every field of a line besides its time, level and event. A name means the same in every event. */
export const LOG_FIELDS = {
  ...REQUEST_FIELDS,
  config: text("the option of the model that makes the lesson permanent"),
  exception: text("the class of an error in the program itself"),
  stack: texts("the places in the source where that error occurred"),
  used_percent: number("the used part of the limit"),
  resets_at: text("the time at which the limit resets"),
  retry_ms: number("the milliseconds until the next attempt may begin"),
  away_ms: number("the milliseconds for which the store was not connected"),
  requests: number("the number of requests concerned"),
  count: number("the number of lines concerned"),
  problems: texts("the errors in the configuration, each with its path"),
  warnings: texts("the doubts about the configuration, each with its path"),
  added: texts("the new entries of the configuration, each as a path of names"),
  removed: texts("the removed entries, each as a path of names"),
  changed: texts("the entries with another value, each as a path of names"),
  changed_files: texts("the files of the configuration that differ"),
  worker: number("the number of the thread, from 1"),
  workers: number("the number of threads that serve"),
  descriptors: number("the file descriptors that the process may open"),
  descriptors_needed: number(
    "the file descriptors that the configuration can need",
  ),
  wanted: number("the number of threads that the configuration asks for"),
  issuer: text("the `issuer` of an identity provider"),
  path: text("a file, or a pattern for files"),
  files: number("the number of files that were read"),
  unknown_token: number("requests of tokens that are not in the configuration"),
  late: number("requests that this process had already counted"),
  other_lines: number("log lines that are no requests to count"),
  unreadable_lines: number("lines that are incomplete or not of this log"),
  complete_since: text("the time at which the first request in the logs ended"),
} as const;

function flag(meaning: string): LogField<true> {
  return { type: "true", meaning };
}
