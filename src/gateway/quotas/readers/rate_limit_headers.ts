import type { HeaderFields } from "@gateway/base/header_fields";
import {
  durationMs,
  instantAfter,
  instantOfSeconds,
  instantOfText,
  type Period,
  period,
  periodOfText,
  UNKNOWN_PERIOD,
} from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import type { HeaderQuota, QuotaReader } from "./reader.ts";

const NUMBER_REGEXP = /^-?\d{1,15}(\.\d{1,15})?$/;

/** Returns the number in a header. Returns null when the header is absent or not a number. */
export function headerNumber(
  headers: HeaderFields,
  name: string,
): number | null {
  const value = headers.get(name) ?? "";
  return NUMBER_REGEXP.test(value) ? Number(value) : null;
}

/** The longest delay in seconds. A larger number is an instant. */
const EPOCH_SECONDS_FLOOR = 1e9;

/**
 * Parses the instant in a reset header. The instant has one of four forms: a duration (`6m0s`, OpenAI and Groq),
 * seconds to wait (Cerebras), seconds since 1970 (DigitalOcean) or RFC 3339 (Anthropic).
 *
 * @param seenAtMs The time of the response, in milliseconds since 1970.
 * @returns ISO 8601 in UTC. Null when the header is absent or has another form.
 */
export function headerInstant(
  headers: HeaderFields,
  name: string,
  seenAtMs: number,
): string | null {
  const number = headerNumber(headers, name);
  if (number !== null) {
    return number > EPOCH_SECONDS_FLOOR
      ? instantOfSeconds(number)
      : instantAfter(seenAtMs, number * 1000);
  }
  const value = headers.get(name) ?? "";
  return instantOfText(value) ?? instantAfter(seenAtMs, durationMs(value));
}

/** The unit of `x-ratelimit-*` headers. */
type RateLimitUnit = "requests" | "tokens";

/** The period of each unit. Used for services whose header names do not contain the period. */
type UnitPeriods = Readonly<Partial<Record<RateLimitUnit, Period>>>;

/**
 * Reads the quota in `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`. A suffix of the name may be the length of
 * the window: `-day` and `-minute` (Cerebras), `-per-day` (DigitalOcean), `-1h` (Nous).
 */
export function rateLimitHeaders(periods: UnitPeriods): HeaderQuota {
  return {
    probes: PROBES,
    parse: (headers, seenAtMs) =>
      subjectsOf(headers).map((subject) =>
        windowOf(subject, headers, {
          seenAtMs,
          period: subject.length === ""
            ? periods[subject.meter] ?? UNKNOWN_PERIOD
            : periodOfText(
              LENGTH_BY_WORD.get(subject.length) ?? subject.length,
            ),
        })
      ),
  };
}

const PROBES = [
  "x-ratelimit-limit-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-limit-requests-day",
  "x-ratelimit-limit-tokens-minute",
  "x-ratelimit-limit-tokens-per-day",
  "x-ratelimit-limit-tokens-per-minute",
  "x-ratelimit-limit-requests-1h",
  "x-ratelimit-limit-tokens-1h",
];

const COUNT_REGEXP =
  /^x-ratelimit-(?:limit|remaining)-((requests|tokens)(?:-(?:per-)?(minute|hour|day|\d+[smhdw]))?)$/;

/** The subject of one set of headers, such as `tokens-per-day`. */
interface Subject {
  readonly name: string;
  readonly meter: RateLimitUnit;
  /** `day`, `1h` and so on. Empty when the name has no length. */
  readonly length: string;
}

function subjectsOf(headers: HeaderFields): Subject[] {
  const subjects = new Map<string, Subject>();
  for (const header of headers.keys()) {
    const [, name, word, length = ""] = COUNT_REGEXP.exec(header) ?? [];
    if (name === undefined || headerNumber(headers, header) === null) continue;
    const meter = word === "requests" ? "requests" : "tokens";
    subjects.set(name, { name, meter, length });
  }
  return [...subjects.values()];
}

const LENGTH_BY_WORD = new Map([
  ["minute", "1m"],
  ["hour", "1h"],
  ["day", "1d"],
]);

function windowOf(
  { name, meter }: Subject,
  headers: HeaderFields,
  { period, seenAtMs }: { readonly period: Period; readonly seenAtMs: number },
): QuotaWindow {
  return quotaWindow({
    type: QUOTA_TYPES[meter],
    unit: meter,
    period,
    limit: headerNumber(headers, `x-ratelimit-limit-${name}`),
    remaining: headerNumber(headers, `x-ratelimit-remaining-${name}`),
    resetsAt: headerInstant(headers, `x-ratelimit-reset-${name}`, seenAtMs),
  });
}

/**
 * Groq reports its quota only in headers. It counts requests per day and tokens per minute (Groq's page "Rate Limits").
 */
export const groq: QuotaReader = {
  headers: rateLimitHeaders({
    requests: period(1, "day"),
    tokens: period(1, "minute"),
  }),
};

/**
 * For OpenAI platform keys, only headers report the quota. Whether a limit is per minute or per day depends on model
 * and tier, and the headers do not report it.
 */
export const openai: QuotaReader = { headers: rateLimitHeaders({}) };
