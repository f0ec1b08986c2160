import type { FailureWord } from "./facts.ts";
import type { LOG_FIELDS, ValueOf } from "./log_fields.ts";

/*
 * The events of the log. The log accepts nothing else, and docs/observing.md#events-of-the-log prints this table and
 * that of the fields.
 */

/** The severity of a log line. */
export type LogLevel = "info" | "warn" | "error";

/** The name of a field. */
type FieldName = keyof typeof LOG_FIELDS;

/** One row of the table of events. */
interface EventRow {
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
      ...["token", "token_group", "attribution"] as const,
      ...["route", "body_protocol"] as const,
      ...["model", "alias"] as const,
      ...["served_model", "upstream_model", "substitute_model"] as const,
      ...["connection", "mode"] as const,
      ...["moved_from", "moved_for", "waited_ms", "waited_for"] as const,
      ...["attempts", "status", "first_byte_ms", "first_output_ms"] as const,
      ...["usage", "cost_usd", "by_model"] as const,
      ...["cache_miss", "cache_miss_at"] as const,
      ...["cache_miss_tokens", "cache_miss_usd"] as const,
      ...["dropped", "lesson", "reasoning_dropped"] as const,
      ...["dropped_parts"] as const,
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
  lesson_learned: {
    level: "warn",
    meaning:
      "a provider refused a field and accepted the request without it; for a day, translated requests to this model leave it out",
    fields: ["connection", "model", "lesson"],
    optional: ["config"],
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
  token_not_renewed: {
    level: "warn",
    meaning:
      "the exchange of a connection gave no new token; the present one is used while it lives",
    fields: ["connection", "reason", "retry_ms"],
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
    fields: ["warnings", "added", "removed", "changed", "changed_files"],
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
  descriptors_low: {
    level: "warn",
    meaning:
      "the process may open fewer descriptors than `max_concurrent_requests` can need",
    fields: ["descriptors", "descriptors_needed"],
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
    meaning:
      "the reader of the log was too slow, or the disk was full, and lines were dropped",
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
  if (failure === "gateway_shortage") return "error";
  if (failure !== undefined) {
    return CALLER_FAILURES.has(failure) ? "info" : "warn";
  }
  if (status >= 500) return "error";
  return ended === "upstream_broken" || ended === "error" && status < 400
    ? "warn"
    : "info";
}
