/** The length of a window, in words and as codes of the API. */
export interface Period {
  /**
   * `minute`, `hourly`, `daily`, `weekly`, `monthly` or `yearly`. With a count: `five_hour`, `90_minute`. `total` never
   * resets. `unknown` means that the provider does not report the length.
   */
  readonly name: string;
  /** A code of {@linkcode PERIOD_CODES}, or the provider's own value. */
  readonly unit: number | null;
  /** The number of units. */
  readonly count: number | null;
}

/** A unit of time for the length of a window. */
export type PeriodUnit = keyof typeof PERIOD_CODES;

/**
 * The values of `period_unit`. Callers already know the codes 3 to 6 from Z.ai. The gateway adds 2 and 7 for other
 * services.
 */
const PERIOD_CODES = {
  minute: 2,
  hour: 3,
  day: 4,
  month: 5,
  week: 6,
  year: 7,
} as const;

/** The period of a budget or a balance that never resets. */
export const TOTAL: Period = { name: "total", unit: null, count: null };

/** The period of a window whose length the provider does not report. */
export const UNKNOWN_PERIOD: Period = {
  name: "unknown",
  unit: null,
  count: null,
};

const NAME_OF_ONE: Readonly<Record<PeriodUnit, string>> = {
  minute: "minute",
  hour: "hourly",
  day: "daily",
  week: "weekly",
  month: "monthly",
  year: "yearly",
};

const COUNT_WORDS =
  "zero one two three four five six seven eight nine ten eleven twelve".split(
    " ",
  );

/** Returns the period of `count` units, such as five hours. */
export function period(count: number, unit: PeriodUnit): Period {
  return {
    name: count === 1
      ? NAME_OF_ONE[unit]
      : `${COUNT_WORDS[count] ?? count}_${unit}`,
    unit: PERIOD_CODES[unit],
    count,
  };
}

/**
 * The length of a unit. It is in months for months and years, because their length in days varies. Otherwise it is in
 * milliseconds.
 */
interface PeriodLength {
  readonly ms?: number;
  readonly months?: number;
}

const LENGTH_BY_UNIT: Readonly<Record<PeriodUnit, PeriodLength>> = {
  minute: { ms: 60_000 },
  hour: { ms: 3_600_000 },
  day: { ms: 86_400_000 },
  week: { ms: 604_800_000 },
  month: { months: 1 },
  year: { months: 12 },
};

/**
 * Returns the length of a period from its codes.
 *
 * @returns `undefined` for an unknown code, and for a count that is not a positive whole number.
 */
export function lengthOfPeriod(
  code: number | null,
  count: number | null,
): PeriodLength | undefined {
  const unit = PERIOD_UNITS.find((one) => PERIOD_CODES[one] === code);
  const isCount = count !== null && Number.isSafeInteger(count) && count > 0;
  if (unit === undefined || !isCount) return undefined;
  const { ms, months } = LENGTH_BY_UNIT[unit];
  return ms === undefined
    ? { months: count * (months ?? 0) }
    : { ms: count * ms };
}

/**
 * Returns the length of a window in minutes, or `undefined` when the length is unknown. A month counts as 30 days, a
 * year as 365.
 */
export function periodMinutes(
  { period_unit, period_count }: {
    readonly period_unit: number | null;
    readonly period_count: number | null;
  },
): number | undefined {
  const length = lengthOfPeriod(period_unit, period_count);
  if (length?.ms !== undefined) return length.ms / 60_000;
  return length?.months === undefined
    ? undefined
    : Math.floor(length.months * 365 / 12) * MINUTES_PER_DAY;
}

const PERIOD_UNITS = [
  "minute",
  "hour",
  "day",
  "week",
  "month",
  "year",
] as const satisfies readonly PeriodUnit[];

const MINUTES_PER_DAY = 24 * 60;

/**
 * Returns the period of a length: 18,000 seconds are five hours, and 604,800 seconds are a week. Any length of 28 to 31
 * days is a month, because some providers send 2,628,000 seconds for a month. The length is rounded to the minute.
 *
 * @returns {@linkcode UNKNOWN_PERIOD} unless the length is a positive number of minutes.
 */
export function periodOfSeconds(seconds: number | null | undefined): Period {
  const minutes = Math.round((seconds ?? 0) / 60);
  if (!Number.isSafeInteger(minutes) || minutes <= 0) return UNKNOWN_PERIOD;
  const days = minutes / MINUTES_PER_DAY;
  if (days >= 28 && days <= 31) return period(1, "month");
  if (days >= 365 && days <= 366) return period(1, "year");
  if (days % 7 === 0) return period(days / 7, "week");
  if (Number.isInteger(days)) return period(days, "day");
  if (minutes % 60 === 0) return period(minutes / 60, "hour");
  return period(minutes, "minute");
}

const SECONDS_BY_LETTER: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
};

/**
 * Parses a period from a short text: `5h`, `7d`, `30d`, `1w`, `1mo`, `1y`, `total`.
 *
 * @returns {@linkcode UNKNOWN_PERIOD} for any other text, and without a text.
 */
export function periodOfText(text: string | null | undefined): Period {
  if (text === "total") return TOTAL;
  const match = /^(\d{1,6})(s|mo|m|h|d|w|y)$/.exec(text ?? "");
  if (match === null) return UNKNOWN_PERIOD;
  const count = Number(match[1]);
  const letter = match[2] ?? "";
  if (count === 0) return UNKNOWN_PERIOD;
  if (letter === "mo") return period(count, "month");
  if (letter === "y") return period(count, "year");
  return periodOfSeconds(count * (SECONDS_BY_LETTER[letter] ?? 0));
}

/**
 * The first instant whose year has five digits, in milliseconds since 1970. A later instant is an error of the
 * provider.
 */
const YEAR_10000_MS = 253_402_300_800_000;

/**
 * Formats milliseconds since 1970 as ISO 8601 in UTC.
 *
 * @returns Null for an invalid instant: providers send nothing, null, 0 or −1 for a window that has not begun. A past
 * instant is valid, because some providers update the instant late.
 */
export function instantOfMs(ms: number | null | undefined): string | null {
  if (ms === null || ms === undefined) return null;
  if (!(ms > 0 && ms < YEAR_10000_MS)) return null;
  return new Date(ms).toISOString();
}

/** {@linkcode instantOfMs} for seconds since 1970. */
export function instantOfSeconds(
  seconds: number | null | undefined,
): string | null {
  return instantOfMs((seconds ?? 0) * 1000);
}

/** Returns the instant `delayMs` after `fromMs`. Returns null when the delay is unknown or negative. */
export function instantAfter(
  fromMs: number,
  delayMs: number | null | undefined,
): string | null {
  if (delayMs === null || delayMs === undefined || delayMs < 0) return null;
  return instantOfMs(fromMs + delayMs);
}

const ISO_REGEXP =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?([Zz]|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Parses an instant in ISO 8601 or RFC 3339, with any number of fraction digits. A time without a zone is in UTC. A
 * date without a time is midnight in UTC.
 *
 * @returns Null for any other text, and without a text.
 */
export function instantOfText(text: string | null | undefined): string | null {
  const match = ISO_REGEXP.exec(text ?? "");
  if (match === null) return null;
  const [, date, time = "00:00", zone = "Z"] = match;
  return instantOfMs(Date.parse(`${date}T${time}${zone}`));
}

const DURATION_REGEXP =
  /^(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/;

const DURATION_PARTS_MS = [86_400_000, 3_600_000, 60_000, 1000, 1];

/**
 * Parses a duration such as `6m0s`, `2m59.56s` or `12ms` (the reset headers of OpenAI and Groq) into milliseconds.
 *
 * @returns Null for any other text.
 */
export function durationMs(text: string): number | null {
  const match = DURATION_REGEXP.exec(text);
  if (match === null || text === "") return null;
  return DURATION_PARTS_MS.reduce(
    (sum, partMs, index) => sum + Number(match[index + 1] ?? 0) * partMs,
    0,
  );
}
