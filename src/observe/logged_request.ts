import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../core/json.ts";

/** What a request used of one model; counts are of tokens, 0 if the provider reported none. */
export interface LoggedUse {
  /** By its name in the configuration. */
  readonly model: string | undefined;
  readonly inputTokens: number;
  /** Of `inputTokens`. */
  readonly cachedInputTokens: number;
  /** Of `inputTokens`. */
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  /** Of `outputTokens`. */
  readonly reasoningTokens: number;
  /** Undefined where the model had no price. */
  readonly costUsd: number | undefined;
}

/** What the log keeps of a request that a provider was asked to answer, with the use of the model that served it. */
export interface LoggedRequest extends LoggedUse {
  /** When it ended, as ISO 8601 in UTC. */
  readonly time: string;
  /** The caller's name; undefined in a log that was made by something else. */
  readonly token: string | undefined;
  readonly connection: string;
  /** The id that the client gave its session. */
  readonly session: string | undefined;
  /** Whether the caller got an error, or an answer that broke off. */
  readonly isFailed: boolean;
  /** Whether the gateway counted the tokens itself, because the provider did not tell them. */
  readonly isEstimated: boolean;
  /** What other models used beside it. */
  readonly others: readonly LoggedUse[];
}

/**
 * What a line of a log is: a request that a provider was asked to answer; another line of the gateway, also of a
 * request that reached no provider; or something that is no whole line of its JSON log.
 */
type LogLine = LoggedRequest | "other" | "unreadable";

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
  const { event, connection, route, failure, attempts } = fields;
  // Of several attempts, all but the last were sent.
  const isUnsent = failure === "untranslatable" && attempts === undefined;
  if (
    event !== "request" || typeof connection !== "string" || isNoUse(route) ||
    isUnsent
  ) return "other";
  const usage = isJsonObject(fields.usage) ? fields.usage : {};
  const model = textOf(fields.served_model) ?? textOf(fields.model);
  const [own = useOf(model, usage, fields.cost_usd), ...others] = usesOf(
    fields.by_model,
  );
  return {
    ...own,
    time: fields.time,
    token: textOf(fields.token),
    connection,
    session: textOf(fields.session),
    isFailed: isFailed(fields.ended, fields.status),
    isEstimated: usage.estimated === true,
    others,
  };
}

/** What each model used, if there were several: the one that served first. */
function usesOf(byModel: JsonValue | undefined): readonly LoggedUse[] {
  return Array.isArray(byModel)
    ? byModel.filter(isJsonObject).map((one) =>
      useOf(textOf(one.model), one, one.cost_usd)
    )
    : [];
}

function useOf(
  model: string | undefined,
  counts: JsonObject,
  costUsd: JsonValue | undefined,
): LoggedUse {
  return {
    model,
    inputTokens: countOf(counts.input_tokens),
    cachedInputTokens: countOf(counts.cached_input_tokens),
    cacheWriteTokens: countOf(counts.cache_write_tokens),
    outputTokens: countOf(counts.output_tokens),
    reasoningTokens: countOf(counts.reasoning_tokens),
    costUsd: isAmount(costUsd, MAX_COST_USD) ? costUsd : undefined,
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
