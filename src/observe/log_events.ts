import type { Ending, FailureWord } from "./facts.ts";

/*
 * The events of the log and the fields of its lines. The log accepts nothing else, and
 * docs/observing.md#events-of-the-log prints these tables.
 */

/** The severity of a log line. */
export type LogLevel = "info" | "warn" | "error";

/** The description of a field. */
export interface LogField<Value> {
  /** The type's name in the documentation. */
  readonly type: string;
  readonly meaning: string;
  /** The fields of an object, or of each object of a list. */
  readonly parts?: Readonly<Record<string, LogField<unknown>>>;
  /** Never present; it carries the type. */
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

type Parts = Readonly<Record<string, LogField<unknown>>>;

type ValueOf<Field> = Field extends LogField<infer Value> ? Value : never;

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

const TOKEN_COUNTS = {
  input_tokens: number("all input"),
  cached_input_tokens: number("the part read from a cache"),
  cache_write_tokens: number("the part written to a cache"),
  cache_write_1h_tokens: number("the part of it that is cached for an hour"),
  output_tokens: number("all output"),
  reasoning_tokens: number("the part that is reasoning"),
} as const;

/** Every field of a line besides its time, level and event. A name means the same in every event. */
export const LOG_FIELDS = {
  request_id: text(
    "the id of the request, which the response has as `x-request-id`",
  ),
  token: text(
    "the name of the caller's token; of an identity provider's caller, the name with the issuer",
  ),
  token_group: text("the group of an identity provider's caller"),
  group: text("the group of tokens that the limit belongs to"),
  method: text("the HTTP method, cut to 16 characters"),
  route: text(
    "the pattern of the path; absent when no route matches the path and method",
  ),
  body_protocol: text(
    "the protocol of the body, where it certainly differs from the path's",
  ),
  model: text(
    "the id of the model; in `request` the requested name, where no model has it",
  ),
  alias: text("the requested name, where it is a further name of the model"),
  served_model: text(
    "the model that served, where it is not `model`: a fallback or the provider's choice",
  ),
  upstream_model: text("the provider's name of the model"),
  connection: text(
    "the name of the connection; the last one of several attempts",
  ),
  mode: text<"native" | "translated">("`native` or `translated`"),
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
    speed: text("the speed at which it was served, in the provider's word"),
    service_tier: text("the tier that served it, in the provider's word"),
    estimated: flag("the gateway estimated a part of it"),
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
  dropped: texts("fields of the request that the translation left out"),
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
    "the code of the gateway's error, or its kind where it has no code",
  ),
  failure: text<FailureWord>(
    "the failure, in one of the words below; in `request` the one that reached the caller",
  ),
  reason: text("the reason, in words for people"),
  exception: text("the class of an error in the program itself"),
  stack: texts("the places in the source where that error occurred"),
  limit: text("the limit, in words; in `request` the one that rejected it"),
  used_percent: number("the used part of the limit"),
  resets_at: text("the time at which the limit resets"),
  retry_ms: number("the milliseconds until the next attempt may begin"),
  away_ms: number("the milliseconds for which it was not connected"),
  requests: number("the number of requests concerned"),
  count: number("the number of lines concerned"),
  problems: texts("the errors in the configuration, each with its path"),
  warnings: texts("the doubts about the configuration, each with its path"),
  worker: number("the number of the thread, from 1"),
  workers: number("the number of threads that serve"),
  wanted: number("the number of threads that the configuration asks for"),
  issuer: text("the `issuer` of an identity provider"),
  path: text("a file, or a pattern for files"),
  files: number("the number of files that were read"),
  unknown_token: number("requests of tokens that are not in the configuration"),
  late: number("requests that the process itself has counted"),
  other_lines: number("log lines other than these requests"),
  unreadable_lines: number("lines that are torn or not of this log"),
  complete_since: text("the time at which the first request in the logs ended"),
} as const;

function flag(meaning: string): LogField<true> {
  return { type: "true", meaning };
}

/** The name of a field. */
type FieldName = keyof typeof LOG_FIELDS;

/** One row of the table of events. */
export interface EventRow {
  /** `by_outcome`: {@linkcode levelOf} decides. */
  readonly level: LogLevel | "by_outcome";
  readonly meaning: string;
  /** The fields that every line of the event has. */
  readonly fields: readonly FieldName[];
  /** The fields that some lines of the event have. */
  readonly optional: readonly FieldName[];
}

/** Every event of the log. */
export const LOG_EVENTS = {
  request: {
    level: "by_outcome",
    meaning: "a request has ended",
    fields: [
      ...["request_id", "method", "bytes_in", "bytes_out"] as const,
      ...["total_ms", "ended"] as const,
    ],
    optional: [
      ...["token", "token_group", "route", "body_protocol"] as const,
      ...["model", "alias"] as const,
      ...["served_model", "upstream_model", "connection", "mode"] as const,
      ...["attempts", "status", "first_byte_ms", "first_output_ms"] as const,
      ...["usage", "cost_usd", "by_model"] as const,
      ...["dropped", "reasoning_dropped", "dropped_parts"] as const,
      ...["upstream_request_id", "upstream_status", "error"] as const,
      ...["failure", "reason", "limit", "group"] as const,
      ...["session", "agent", "client_request_id"] as const,
    ],
  },
  unforeseen: {
    level: "error",
    meaning: "the gateway failed because of an error in its program",
    fields: ["request_id", "exception", "stack"],
    optional: [],
  },
  cooling_down: {
    level: "warn",
    meaning:
      "a connection, or a model on it, failed and gets no requests for a while: from any token, or from one",
    fields: ["connection", "failure", "retry_ms"],
    optional: ["model", "token"],
  },
  limit_near: {
    level: "warn",
    meaning: "80 percent of a limit are used; once per window",
    fields: ["token", "limit", "used_percent", "resets_at"],
    optional: ["group"],
  },
  identity_keys_unread: {
    level: "warn",
    meaning:
      "the keys of an identity provider cannot be read, so that its callers get a 503",
    fields: ["issuer", "reason", "retry_ms"],
    optional: [],
  },
  quota_read_failed: {
    level: "warn",
    meaning: "the quota of a connection cannot be read",
    fields: ["connection", "failure", "reason"],
    optional: [],
  },
  model_list_unread: {
    level: "info",
    meaning:
      "a provider's list of models cannot be read; `/models` has only the facts of the configuration",
    fields: ["connection", "reason"],
    optional: [],
  },
  shared_store_away: {
    level: "warn",
    meaning:
      "the store of the replicas cannot be used; the gateway counts in memory",
    fields: ["failure"],
    optional: [],
  },
  shared_store_connected: {
    level: "info",
    meaning:
      "the store of the replicas is connected, for the first time or again",
    fields: [],
    optional: ["away_ms"],
  },
  config_applied: {
    level: "info",
    meaning: "a changed configuration is in use",
    fields: ["warnings"],
    optional: [],
  },
  config_rejected: {
    level: "error",
    meaning: "a changed configuration has problems; the old one is in use",
    fields: ["problems"],
    optional: [],
  },
  config_failed: {
    level: "error",
    meaning: "a changed configuration could not be put into use",
    fields: ["exception"],
    optional: [],
  },
  config_unchanged: {
    level: "info",
    meaning:
      "after SIGHUP, `config_rejected` or `config_failed`: the files contain the configuration in use",
    fields: [],
    optional: [],
  },
  draining: {
    level: "info",
    meaning: "the gateway is stopping and accepts no new requests",
    fields: ["requests"],
    optional: [],
  },
  cut: {
    level: "warn",
    meaning: "requests ran longer than `drain_seconds` and were cut",
    fields: ["requests"],
    optional: [],
  },
  stopped: {
    level: "info",
    meaning: "the gateway has stopped after draining",
    fields: [],
    optional: [],
  },
  listener_lost: {
    level: "error",
    meaning:
      "no new connections are accepted, mostly because descriptors are used up",
    fields: ["reason"],
    optional: [],
  },
  listening_again: {
    level: "info",
    meaning: "new connections are accepted again",
    fields: [],
    optional: [],
  },
  listener_renewed: {
    level: "info",
    meaning: "new connections get the new certificate",
    fields: [],
    optional: [],
  },
  listener_kept: {
    level: "error",
    meaning: "a new certificate cannot be used; the old one stays in use",
    fields: ["reason"],
    optional: [],
  },
  worker_died: {
    level: "error",
    meaning: "a thread ended with an error and is being replaced",
    fields: ["worker", "exception", "retry_ms"],
    optional: [],
  },
  workers_not_supported: {
    level: "warn",
    meaning: "this system cannot share a port among threads",
    fields: ["wanted", "workers"],
    optional: [],
  },
  usage_replayed: {
    level: "info",
    meaning: "the usage in earlier logs is counted",
    fields: [
      ...["files", "requests", "unknown_token", "late"] as const,
      ...["other_lines", "unreadable_lines", "total_ms"] as const,
    ],
    optional: ["complete_since"],
  },
  usage_not_replayed: {
    level: "warn",
    meaning: "one log, or all of them, cannot be counted",
    fields: ["reason"],
    optional: ["path"],
  },
  log_lines_dropped: {
    level: "warn",
    meaning: "the reader of the log was too slow, and lines were dropped",
    fields: ["count"],
    optional: [],
  },
} as const satisfies Record<string, EventRow>;

/** The name of an event. */
export type LogEvent = keyof typeof LOG_EVENTS;

type Always<Event extends LogEvent> =
  typeof LOG_EVENTS[Event]["fields"][number];

type Maybe<Event extends LogEvent> =
  typeof LOG_EVENTS[Event]["optional"][number];

type FieldValue<Name extends FieldName> = ValueOf<typeof LOG_FIELDS[Name]>;

/** The fields of an event's line. Absent fields have no value. */
export type EventFields<Event extends LogEvent> =
  & { readonly [Name in Always<Event>]: FieldValue<Name> }
  & { readonly [Name in Maybe<Event>]?: FieldValue<Name> | undefined }
  & {
    readonly [
      Name in Exclude<FieldName, Always<Event> | Maybe<Event>>
    ]?: never;
  };

/** The fields that decide the level of a request's line. */
type Outcome = Pick<EventFields<"request">, "ended" | "failure" | "status">;

/** Returns the level of a line. */
export function levelOf<Event extends LogEvent>(
  event: Event,
  fields: EventFields<Event> & Partial<Outcome>,
): LogLevel {
  const { level } = LOG_EVENTS[event];
  return level === "by_outcome" ? outcomeLevel(fields) : level;
}

/** Failures caused by the caller, according to the provider or the gateway. */
const CALLER_FAILURES: ReadonlySet<FailureWord> = new Set([
  "too_long",
  "refused",
  "untranslatable",
]);

/**
 * Returns the level of a request's line. `error`: the gateway itself failed. `warn`: the provider's failure reached the
 * caller, or a stream was cut. `info`: all other endings.
 */
function outcomeLevel(
  { ended, failure, status = 0 }: Partial<Outcome>,
): LogLevel {
  if (ended === "client_abort") return "info";
  if (failure !== undefined) {
    return CALLER_FAILURES.has(failure) ? "info" : "warn";
  }
  if (status >= 500) return "error";
  return ended === "upstream_broken" || ended === "error" && status < 400
    ? "warn"
    : "info";
}
