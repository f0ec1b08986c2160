import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";
import type { Usage } from "@gateway/codecs";
import { isUnsent } from "./facts.ts";
import {
  type CountName,
  type REQUEST_FIELDS,
  TOKEN_COUNTS,
} from "./log_fields.ts";

/** The tokens of one model that a request used; a count is 0 if the provider did not report it. */
export interface LoggedUse extends Record<CountName, number> {
  /** The model's id in the configuration. */
  readonly model: string | undefined;
  /** `undefined` when the model had no price. */
  readonly costUsd: number | undefined;
}

/** The names of the counts, in the log and in the canonical form. */
export const COUNTS: readonly (readonly [logged: string, of: CountName])[] =
  Object.entries(TOKEN_COUNTS).map(([name, { of }]) => [name, of]);

/** A usage without tokens. */
export const NO_TOKENS: Readonly<Record<CountName, number>> = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/** The line of a request, in the form of any version of the gateway. */
type Line = Readonly<
  Partial<Record<keyof typeof REQUEST_FIELDS | "time" | "event", JsonValue>>
>;

/** The log's facts about a request that was sent to a provider, with the usage of the model that served it. */
export interface LoggedRequest
  extends
    LoggedUse,
    Pick<Usage, "speed" | "serviceTier" | "inferenceGeo" | "refusal"> {
  /** The end of the request, as ISO 8601 in UTC. */
  readonly time: string;
  /** The milliseconds from the request's beginning to its end. */
  readonly totalMs: number;
  /** The name of the caller's token; `undefined` in a log from another program. */
  readonly token: string | undefined;
  /** The caller's group, or groups with commas between them. */
  readonly tokenGroup: string | undefined;
  /** The values of attribution headers by name. */
  readonly attribution: JsonObject;
  readonly connection: string;
  /** The client's id of the request's session. */
  readonly session: string | undefined;
  /** True when the caller got an error or an answer that broke off. */
  readonly isFailed: boolean;
  /** True when the gateway estimated the tokens, because the provider did not report them. */
  readonly isEstimated: boolean;
  /** Earlier attempts that were sent and got no response. The provider may charge for these attempts. */
  readonly unanswered: readonly Unanswered[];
  /** Why the turn read far less from the prompt cache than the cache could have held. */
  readonly cacheMiss: LoggedMiss | undefined;
  /** The usage of other models by the same request. */
  readonly others: readonly LoggedUse[];
}

/** An attempt without a response. */
interface Unanswered {
  readonly connection: string;
  readonly model: string | undefined;
}

/** The reason why a turn missed the prompt cache, and the extra cost of the miss. */
interface LoggedMiss {
  readonly cause: string;
  /** The part of the request that was edited, such as `messages[4]`. */
  readonly part: string | undefined;
  /** The extra cost; `undefined` without a price. */
  readonly costUsd: number | undefined;
}

/**
 * A line of a log. It is a request that was sent to a provider, `other` for another line of the gateway, or
 * `unreadable` for an incomplete or foreign line. A request that reached no provider is `other`.
 */
type LogLine = LoggedRequest | "other" | "unreadable";

/** The beginning of each line of the JSON log (`observe/log.ts`). */
const BEGINNING = '{"time":"';

/**
 * Returns a line's text from the value of `time` on; `undefined` for a line without a time. Does not parse JSON,
 * because parsing is slow.
 */
export function fromTime(line: string): string | undefined {
  const start = line.lastIndexOf(BEGINNING);
  return start === -1 ? undefined : line.slice(start + BEGINNING.length);
}

const REQUEST = '"event":"request"';

/**
 * Parses one line of the gateway's JSON log. Skips text before the JSON object, such as a log collector's prefix or a
 * torn line. Unknown fields are accepted, because the log may come from an older or newer gateway.
 *
 * @param line The line without a line feed at the end.
 */
export function readLogLine(line: string): LogLine {
  const start = line.lastIndexOf(BEGINNING);
  if (start === -1) return "unreadable";
  if (!line.includes(REQUEST, start)) {
    return line.trimEnd().endsWith("}") ? "other" : "unreadable";
  }
  const read = parseJson(line.slice(start));
  if (!isJsonObject(read) || !isTime(read.time)) return "unreadable";
  const { time } = read;
  const fields: Line = read;
  const { event, connection, route, attempts } = fields;
  const tried = Array.isArray(attempts) ? attempts : [fields];
  const wasSent = tried.some((one) =>
    isJsonObject(one) && !isUnsent(one.failure)
  );
  if (
    event !== "request" || typeof connection !== "string" ||
    isTokenCounting(route) ||
    !wasSent
  ) return "other";
  const usage = isJsonObject(fields.usage) ? fields.usage : {};
  const model = textOf(fields.served_model) ?? textOf(fields.model);
  const [own = useOf(model, usage, fields.cost_usd), ...others] = usesOf(
    fields.by_model,
  );
  return {
    ...own,
    time,
    totalMs: isAmount(fields.total_ms, Infinity) ? fields.total_ms : 0,
    token: textOf(fields.token),
    tokenGroup: textOf(fields.token_group),
    attribution: isJsonObject(fields.attribution) ? fields.attribution : {},
    connection,
    session: textOf(fields.session),
    isFailed: isFailed(fields.ended, fields.status),
    isEstimated: usage.estimated === true,
    speed: textOf(usage.speed),
    serviceTier: textOf(usage.service_tier),
    inferenceGeo: textOf(usage.inference_geo),
    refusal: textOf(usage.refusal),
    unanswered: Array.isArray(attempts) ? unansweredOf(attempts) : [],
    cacheMiss: missOf(fields),
    others,
  };
}

/** Returns the failed attempts that reached a provider and got no response. Leaves out the last attempt. */
function unansweredOf(attempts: readonly JsonValue[]): readonly Unanswered[] {
  return attempts.slice(0, -1).filter(isJsonObject).flatMap(
    ({ connection, model, status, failure }) =>
      typeof connection === "string" && status === undefined &&
        failure !== "unreachable" && !isUnsent(failure)
        ? { connection, model: textOf(model) }
        : [],
  );
}

function missOf(fields: Line): LoggedMiss | undefined {
  const cause = textOf(fields.cache_miss);
  return cause === undefined ? undefined : {
    cause,
    part: textOf(fields.cache_miss_at),
    costUsd: costOf(fields.cache_miss_usd),
  };
}

function costOf(value: JsonValue | undefined): number | undefined {
  return isAmount(value, MAX_COST_USD) ? value : undefined;
}

/** Returns the usage of each model, if a request used several models. The model that served comes first. */
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
  const use = { ...NO_TOKENS, model, costUsd: costOf(costUsd) };
  for (const [name, of] of COUNTS) use[of] = countOf(counts[name]);
  return use;
}

/** Returns true for a route that only counts tokens. Its requests use no tokens. */
function isTokenCounting(route: JsonValue | undefined): boolean {
  return typeof route === "string" && route.endsWith("/count_tokens");
}

const TIME_REGEXP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

function isTime(value: JsonValue | undefined): value is string {
  return typeof value === "string" && TIME_REGEXP.test(value);
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The largest plausible token count. A larger count would make every sum useless. */
export const MAX_TOKENS = 1_000_000_000;

/** The largest plausible cost of an answer. */
const MAX_COST_USD = 1_000_000;

/** Returns a token count, or 0 when the provider's value is not a count. */
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

/** Returns true when a request failed. A request whose caller disconnected has not failed. */
function isFailed(
  ended: JsonValue | undefined,
  status: JsonValue | undefined,
): boolean {
  if (ended === "client_abort") return false;
  return ended !== "complete" || (typeof status === "number" && status >= 400);
}
