import type { HeaderFields } from "../../core/header_fields.ts";
import { amounts } from "../amounts.ts";
import { type Period, periodOfText, UNKNOWN_PERIOD } from "../period.ts";
import { LIMIT_TYPES, type QuotaWindow, quotaWindow } from "../window.ts";
import { headerInstant, headerNumber } from "./header_value.ts";
import type { HeaderQuota } from "./reader.ts";

/** What `x-ratelimit-*` headers count. */
export type Meter = "requests" | "tokens";

/** How long a service's windows are where the names of its headers do not say it. */
export type MeterPeriods = Readonly<Partial<Record<Meter, Period>>>;

/**
 * Quota in `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, with or without a length behind:
 * `-day` and `-minute` (Cerebras), `-per-day` (DigitalOcean), `-1h` (Nous).
 */
export function rateLimitHeaders(periods: MeterPeriods): HeaderQuota {
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

/** What one set of headers is about, such as `tokens-per-day`. */
interface Subject {
  readonly name: string;
  readonly meter: Meter;
  /** `day`, `1h` …; empty when the name does not say it. */
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
    type: LIMIT_TYPES[meter],
    unit: meter,
    period,
    amounts: amounts({
      limit: headerNumber(headers, `x-ratelimit-limit-${name}`),
      remaining: headerNumber(headers, `x-ratelimit-remaining-${name}`),
    }),
    resetsAt: headerInstant(headers, `x-ratelimit-reset-${name}`, seenAtMs),
  });
}
