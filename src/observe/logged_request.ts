import { isJsonObject, type JsonValue, parseJson } from "../core/json.ts";

/**
 * What the log keeps of a request that a provider was asked to answer; counts are of tokens, 0 where none were told.
 */
export interface LoggedRequest {
  /** When it ended, as ISO 8601 in UTC. */
  readonly time: string;
  /** The caller's name; undefined in a log that was made by something else. */
  readonly token: string | undefined;
  /** The one that served it, by its name in the configuration. */
  readonly model: string | undefined;
  readonly connection: string;
  /** The id that the client gave its session. */
  readonly session: string | undefined;
  /** Whether the caller got an error, or an answer that broke off. */
  readonly isFailed: boolean;
  readonly inputTokens: number;
  /** Of `inputTokens`. */
  readonly cachedInputTokens: number;
  /** Of `inputTokens`. */
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  /** Of `outputTokens`. */
  readonly reasoningTokens: number;
  /** Whether the gateway counted the tokens itself, because the provider did not tell them. */
  readonly isEstimated: boolean;
  /** Undefined where the model had no price. */
  readonly costUsd: number | undefined;
}

/**
 * What a line of a log is: a request that a provider was asked to answer; another line of the gateway, also of a
 * request that reached no provider; or something that is no whole line of its JSON log.
 */
export type LogLine = LoggedRequest | "other" | "unreadable";

/** How each line of the JSON log begins (`observe/log.ts`). */
const BEGINNING = '{"time":"';

const REQUEST = '"event":"request"';

/**
 * Reads one line of the gateway's JSON log. What a collector of logs has put before the object is passed over, and so
 * is a line that was torn and that this one was joined to. Fields that are not known are welcome, those of a log that
 * is older or newer included.
 *
 * @param line Without its line feed.
 */
export function readLogLine(line: string): LogLine {
  const start = line.lastIndexOf(BEGINNING);
  if (start === -1) return "unreadable";
  if (!line.includes(REQUEST, start)) {
    return line.trimEnd().endsWith("}") ? "other" : "unreadable";
  }
  const fields = parseJson(line.slice(start));
  if (!isJsonObject(fields) || !isTime(fields.time)) return "unreadable";
  const { event, connection, route } = fields;
  if (event !== "request" || typeof connection !== "string" || isNoUse(route)) {
    return "other";
  }
  const usage = isJsonObject(fields.usage) ? fields.usage : {};
  return {
    time: fields.time,
    token: textOf(fields.token),
    model: textOf(fields.served_model) ?? textOf(fields.model),
    connection,
    session: textOf(fields.session),
    isFailed: isFailed(fields.ended, fields.status),
    inputTokens: countOf(usage.input_tokens),
    cachedInputTokens: countOf(usage.cached_input_tokens),
    cacheWriteTokens: countOf(usage.cache_write_tokens),
    outputTokens: countOf(usage.output_tokens),
    reasoningTokens: countOf(usage.reasoning_tokens),
    isEstimated: usage.estimated === true,
    costUsd: isAmount(fields.cost_usd, MAX_COST_USD)
      ? fields.cost_usd
      : undefined,
  };
}

/** Who has tokens counted uses none. */
function isNoUse(route: JsonValue | undefined): boolean {
  return typeof route === "string" && route.endsWith("/count_tokens");
}

const TIME_REGEXP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

function isTime(value: JsonValue | undefined): value is string {
  return typeof value === "string" && TIME_REGEXP.test(value);
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** No answer has more; a provider that tells more would spoil every sum. */
const MAX_TOKENS = 1_000_000_000;

/** The same for what an answer costs. */
const MAX_COST_USD = 1_000_000;

/** What a provider has told may be no count at all. */
function countOf(value: JsonValue | undefined): number {
  return isAmount(value, Infinity) && Number.isInteger(value)
    ? Math.min(value, MAX_TOKENS)
    : 0;
}

function isAmount(
  value: JsonValue | undefined,
  most: number,
): value is number {
  return typeof value === "number" && value >= 0 && value <= most;
}

/** A caller who left got no error. */
function isFailed(
  ended: JsonValue | undefined,
  status: JsonValue | undefined,
): boolean {
  if (ended === "client_abort") return false;
  return ended !== "complete" || (typeof status === "number" && status >= 400);
}
