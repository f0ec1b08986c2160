import type { Ending, FailureWord } from "./facts.ts";

/*
 * Every event of the log and every field of its lines. The log takes nothing else, and
 * docs/observing.md#events-of-the-log prints these tables.
 */

/** How much a log line matters. */
export type LogLevel = "info" | "warn" | "error";

/** What a field holds. */
export interface LogField<Value> {
  /** As the documentation calls the type. */
  readonly type: string;
  readonly meaning: string;
  /** The fields of an object, or of each object of a list. */
  readonly parts?: Readonly<Record<string, LogField<unknown>>>;
  /** Never there: it carries the type. */
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
  cached_input_tokens: number("the part that was read from a cache"),
  cache_write_tokens: number("the part that was written to a cache"),
  cache_write_1h_tokens: number("of that, the part that is kept for an hour"),
  output_tokens: number("all output"),
  reasoning_tokens: number("the part that was reasoning"),
} as const;

/** Every field of a line beside its time, level and event. A name means the same in every event. */
export const LOG_FIELDS = {
  request_id: text("the request, as `x-request-id` names it in the response"),
  token: text("the name of the caller's token"),
  group: text("the group of tokens that the limit belongs to"),
  method: text("the HTTP method, cut to 16 characters"),
  route: text(
    "the pattern of the path; absent where nothing is served by that method",
  ),
  body_protocol: text(
    "the protocol of the body, where that is certainly not the path's",
  ),
  model: text(
    "the model by its id; in `request` the name that was asked for, where no model has it",
  ),
  alias: text("the further name of the model that was asked for"),
  served_model: text(
    "the model that served, where it is not `model`: a fallback, or one that the provider took",
  ),
  upstream_model: text("what the provider calls the model"),
  connection: text("the connection by its name, of several the last"),
  mode: text<"native" | "translated">("`native` or `translated`"),
  attempts: objects("every call of a provider, where there were several", {
    connection: text("the connection by its name"),
    model: text("the model by its id"),
    status: number("the status of the provider's response"),
    failure: text<FailureWord>("what was wrong"),
    ms: number("how long it took until the response began, or failed"),
  }),
  status: number(
    "the status of the gateway's response; 499 where the caller left before",
  ),
  bytes_in: number("bytes that were read of the request's body, decompressed"),
  bytes_out: number("bytes of the response's body, whoever made it"),
  first_byte_ms: number("until the headers of the provider's response came"),
  first_output_ms: number("until the first output came"),
  usage: object("the tokens of the request, as the provider counts them", {
    ...TOKEN_COUNTS,
    speed: text("how fast it was served, in the provider's word"),
    service_tier: text("the tier that served it, in the provider's word"),
    estimated: flag("the gateway has estimated some of it"),
  }),
  cost_usd: number("the cost in US dollars, where the model has a price"),
  by_model: objects(
    "each model that was used, where there were several, the one that served first; `usage` and `cost_usd` are their sums",
    {
      model: text("the model by its id"),
      ...TOKEN_COUNTS,
      cost_usd: number("the cost in US dollars, where the model has a price"),
    },
  ),
  dropped: texts("fields of the request that the translation left out"),
  reasoning_dropped: texts(
    "why the request went on without earlier reasoning",
  ),
  dropped_parts: texts("parts of the answer that the translation left out"),
  upstream_request_id: text("what the provider calls the request"),
  upstream_status: number("the status of the provider's last response"),
  session: text("what the client calls its session"),
  agent: text("what the client calls its agent"),
  client_request_id: text("what the client calls the request"),
  total_ms: number("how long it took from its beginning to its end"),
  ended: text<Ending>(
    "`complete`, `client_abort`, `upstream_broken` or `error`",
  ),
  error: text(
    "the code, else the kind, of the error, where the response is one",
  ),
  failure: text<FailureWord>(
    "what was wrong, in one of the words below; in `request` what reached the caller",
  ),
  reason: text("why, in words for people"),
  exception: text("the class of an error in the program itself"),
  stack: texts("where in the source that error came from"),
  limit: text("the limit in words; in `request` the one that refused it"),
  used_percent: number("how much of the limit is used"),
  resets_at: text("when the limit resets"),
  retry_ms: number("in how many milliseconds the next try may begin"),
  away_ms: number("how long it was away"),
  requests: number("how many requests it is about"),
  count: number("how many lines it is about"),
  problems: texts("what is wrong in the configuration, and where"),
  warnings: texts("what is doubtful in the configuration, and where"),
  worker: number("which thread, from 1"),
  workers: number("how many threads serve"),
  wanted: number("how many threads the configuration asks for"),
  path: text("a file, or a pattern for files"),
  files: number("how many files were read"),
  unknown_token: number("requests of tokens that are not in the configuration"),
  late: number("requests that the process counts itself"),
  other_lines: number("lines of the log that are no such request"),
  unreadable_lines: number("lines that are torn, or not of this log"),
  complete_since: text("when the first request of the logs ended"),
} as const;

function flag(meaning: string): LogField<true> {
  return { type: "true", meaning };
}

/** The name of a field. */
type FieldName = keyof typeof LOG_FIELDS;

/** One row of the table of events. */
export interface EventRow {
  /** `by_outcome`: see {@linkcode levelOf}. */
  readonly level: LogLevel | "by_outcome";
  readonly meaning: string;
  /** On every line of the event. */
  readonly fields: readonly FieldName[];
  /** On some lines of it. */
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
      ...["token", "route", "body_protocol", "model", "alias"] as const,
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
    meaning: "the gateway failed in a way that its program does not know",
    fields: ["request_id", "exception", "stack"],
    optional: [],
  },
  cooling_down: {
    level: "warn",
    meaning:
      "a connection, or a model on it, failed and is not asked for a while: by nobody, or by one token",
    fields: ["connection", "failure", "retry_ms"],
    optional: ["model", "token"],
  },
  limit_near: {
    level: "warn",
    meaning: "80 percent of a limit are used; once a window",
    fields: ["token", "limit", "used_percent", "resets_at"],
    optional: ["group"],
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
      "a provider's list of models cannot be read; `/models` says what the configuration says of them",
    fields: ["connection", "reason"],
    optional: [],
  },
  shared_store_away: {
    level: "warn",
    meaning: "the store of the replicas cannot be used; memory serves",
    fields: ["failure"],
    optional: [],
  },
  shared_store_connected: {
    level: "info",
    meaning: "the store of the replicas can be used, at first or again",
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
    meaning: "a changed configuration could not be taken over",
    fields: ["exception"],
    optional: [],
  },
  config_unchanged: {
    level: "info",
    meaning:
      "after SIGHUP, `config_rejected` or `config_failed`: the files say what is in use",
    fields: [],
    optional: [],
  },
  draining: {
    level: "info",
    meaning: "the gateway ends, and takes no new requests",
    fields: ["requests"],
    optional: [],
  },
  cut: {
    level: "warn",
    meaning: "requests ran longer than `drain_seconds`, and are cut",
    fields: ["requests"],
    optional: [],
  },
  stopped: {
    level: "info",
    meaning: "a gateway that drained has ended",
    fields: [],
    optional: [],
  },
  listener_lost: {
    level: "error",
    meaning: "no new connection is accepted, mostly for want of descriptors",
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
    meaning: "a new certificate cannot be used; the old one stays",
    fields: ["reason"],
    optional: [],
  },
  worker_died: {
    level: "error",
    meaning: "a thread has ended by an error, and another takes its place",
    fields: ["worker", "exception", "retry_ms"],
    optional: [],
  },
  workers_not_supported: {
    level: "warn",
    meaning: "this system shares no port among threads",
    fields: ["wanted", "workers"],
    optional: [],
  },
  usage_replayed: {
    level: "info",
    meaning: "the usage in the logs of before is counted",
    fields: [
      ...["files", "requests", "unknown_token", "late"] as const,
      ...["other_lines", "unreadable_lines", "total_ms"] as const,
    ],
    optional: ["complete_since"],
  },
  usage_not_replayed: {
    level: "warn",
    meaning: "a log, or all of them, cannot be counted",
    fields: ["reason"],
    optional: ["path"],
  },
  log_lines_dropped: {
    level: "warn",
    meaning: "nobody took the lines of the log, so that some are lost",
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

/** What a line of an event holds, and nothing else; what is absent has no value. */
export type EventFields<Event extends LogEvent> =
  & { readonly [Name in Always<Event>]: FieldValue<Name> }
  & { readonly [Name in Maybe<Event>]?: FieldValue<Name> | undefined }
  & {
    readonly [
      Name in Exclude<FieldName, Always<Event> | Maybe<Event>>
    ]?: never;
  };

/** What decides about the level of a request's line. */
type Outcome = Pick<EventFields<"request">, "ended" | "failure" | "status">;

/** Returns the level of a line. */
export function levelOf<Event extends LogEvent>(
  event: Event,
  fields: EventFields<Event> & Partial<Outcome>,
): LogLevel {
  const { level } = LOG_EVENTS[event];
  return level === "by_outcome" ? outcomeLevel(fields) : level;
}

/** The caller's own part, as far as the provider or the gateway says so. */
const OF_CALLER: ReadonlySet<FailureWord> = new Set([
  "too_long",
  "refused",
  "untranslatable",
]);

/**
 * Returns how much the end of a request matters to an administrator: `error` where the gateway failed by itself, `warn`
 * where the provider's failure reached the caller or a stream was cut, else `info`.
 */
function outcomeLevel(
  { ended, failure, status = 0 }: Partial<Outcome>,
): LogLevel {
  if (ended === "client_abort") return "info";
  if (failure !== undefined) return OF_CALLER.has(failure) ? "info" : "warn";
  if (status >= 500) return "error";
  return ended === "upstream_broken" || ended === "error" && status < 400
    ? "warn"
    : "info";
}
