import type { FailureWord } from "./facts.ts";
import { type LOG_FIELDS, REQUEST_FIELDS, type ValueOf } from "./log_fields.ts";

/*
 * The events of the log. The log accepts no other events. docs/observing.md#events-of-the-log prints this table and the
 * table of the fields.
 */

/** The severity of a log line. */
export type LogLevel = "info" | "warn" | "error";

/** The name of a field. */
type FieldName = keyof typeof LOG_FIELDS;

/** One row of the table of events. */
interface EventRow<Always extends FieldName, Maybe extends FieldName> {
  /** The level of every line. With `by_outcome`, {@linkcode levelOf} decides the level of each line. */
  readonly level: LogLevel | "by_outcome";
  readonly meaning: string;
  /** The fields that every line of the event has. */
  readonly fields: readonly Always[];
  /** The fields that some lines of the event have. */
  readonly optional: readonly Maybe[];
}

function row<
  Always extends FieldName = never,
  Maybe extends FieldName = never,
>(
  level: EventRow<Always, Maybe>["level"],
  meaning: string,
  fields: readonly Always[] = [],
  optional: readonly Maybe[] = [],
): EventRow<Always, Maybe> {
  return { level, meaning, fields, optional };
}

/** The fields that the line of each request has. */
const ALWAYS = [
  ...["request_id", "method", "bytes_in", "bytes_out"] as const,
  ...["total_ms", "ended"] as const,
];

type Sometimes = Exclude<
  keyof typeof REQUEST_FIELDS,
  typeof ALWAYS[number]
>;

function isSometimes(name: string): name is Sometimes {
  return Object.hasOwn(REQUEST_FIELDS, name) &&
    !ALWAYS.some((one) => one === name);
}

/** Every event of the log. */
export const LOG_EVENTS = {
  request: row(
    "by_outcome",
    "a request has ended",
    ALWAYS,
    Object.keys(REQUEST_FIELDS).filter(isSometimes),
  ),
  unforeseen: row(
    "error",
    "the gateway failed because of an error in its program",
    ["request_id", "exception", "stack"],
  ),
  cooling_down: row(
    "warn",
    "a connection, or a model on it, failed and gets no requests for a while, from one token or from all",
    ["connection", "failure", "retry_ms"],
    ["model", "token"],
  ),
  lesson_learned: row(
    "warn",
    "a provider refused a field and accepted the request without it; for a day, translated requests to this model omit the field, for one token or for all",
    ["connection", "model", "lesson"],
    ["token", "config"],
  ),
  limit_near: row(
    "warn",
    "80 percent of a limit are used; written once per window",
    [
      "token",
      "limit",
      "used_percent",
      "resets_at",
    ],
    ["group"],
  ),
  alert_lost: row("warn", "an alert did not reach its receiver", ["reason"]),
  identity_keys_unread: row(
    "warn",
    "the keys of an identity provider cannot be read, so that its callers get a 503",
    ["issuer", "reason", "retry_ms"],
  ),
  token_not_renewed: row(
    "warn",
    "the token exchange of a connection gave no new token; the present one is used until it expires",
    ["connection", "reason", "retry_ms"],
  ),
  quota_read_failed: row("warn", "the quota of a connection cannot be read", [
    "connection",
    "failure",
    "reason",
  ]),
  model_list_unread: row(
    "info",
    "a provider's list of models cannot be read; `/models` has only the facts of the configuration",
    ["connection", "reason"],
  ),
  shared_store_away: row(
    "warn",
    "the store of the replicas cannot be used; the gateway counts in memory",
    ["failure"],
  ),
  shared_store_connected: row(
    "info",
    "the store of the replicas is connected, for the first time or again",
    [],
    ["away_ms"],
  ),
  config_applied: row("info", "a changed configuration is in use", [
    "warnings",
    "added",
    "removed",
    "changed",
    "changed_files",
  ]),
  config_rejected: row(
    "error",
    "a changed configuration has problems; the old one is in use",
    ["problems"],
  ),
  config_failed: row(
    "error",
    "a changed configuration could not be put into use",
    ["exception"],
  ),
  config_unchanged: row(
    "info",
    "the files contain the configuration in use; written after SIGHUP, `config_rejected` or `config_failed`",
  ),
  draining: row("info", "the gateway is stopping and accepts no new requests", [
    "requests",
  ]),
  cut: row("warn", "requests ran longer than `drain_seconds` and were cut", [
    "requests",
  ]),
  stopped: row("info", "the gateway has stopped after draining"),
  listener_lost: row(
    "error",
    "no new connections are accepted, mostly because descriptors are used up",
    ["reason"],
  ),
  listening_again: row("info", "new connections are accepted again"),
  listener_renewed: row("info", "new connections get the new certificate"),
  listener_kept: row(
    "error",
    "a new certificate cannot be used; the old one stays in use",
    ["reason"],
  ),
  worker_died: row(
    "error",
    "a thread ended with an error and is being replaced",
    ["worker", "exception", "retry_ms"],
  ),
  descriptors_low: row(
    "warn",
    "the process may open fewer descriptors than `max_concurrent_requests` can need",
    ["descriptors", "descriptors_needed"],
  ),
  workers_not_supported: row(
    "warn",
    "this system cannot share a port among threads",
    ["wanted", "workers"],
  ),
  usage_replayed: row("info", "the usage in earlier logs is counted", [
    ...["files", "requests", "unknown_token", "late"] as const,
    ...["other_lines", "unreadable_lines", "total_ms"] as const,
  ], ["complete_since"]),
  usage_not_replayed: row(
    "warn",
    "the usage in one earlier log, or in all, cannot be counted",
    ["reason"],
    ["path"],
  ),
  log_lines_dropped: row(
    "warn",
    "the reader of the log was too slow, or the disk was full, and lines were dropped",
    ["count"],
  ),
} as const;

/** The name of an event. */
export type LogEvent = keyof typeof LOG_EVENTS;

type Always<Event extends LogEvent> =
  typeof LOG_EVENTS[Event]["fields"][number];

type Maybe<Event extends LogEvent> =
  typeof LOG_EVENTS[Event]["optional"][number];

type FieldValue<Name extends FieldName> = ValueOf<typeof LOG_FIELDS[Name]>;

/** The fields of an event's line. A field of another event is a compile error. */
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
