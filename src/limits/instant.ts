/** The first instant whose year has five digits, in milliseconds since 1970: no provider means it. */
const YEAR_10000_MS = 253_402_300_800_000;

/**
 * An instant of milliseconds since 1970 as ISO 8601 in UTC.
 *
 * @returns Null for what is no instant: providers send nothing, null, 0 or −1 for a window that has not
 * begun. An instant in the past stays: some providers refresh it late.
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

/** The instant `delayMs` after `fromMs`; null when the delay is unknown or negative. */
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
 * An instant written as ISO 8601 or RFC 3339, with any number of fraction digits. Without a zone it is
 * UTC, a date alone is its midnight in UTC.
 *
 * @returns Null for any other text, and for none.
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
 * The milliseconds of a duration text such as `6m0s`, `2m59.56s` or `12ms` (OpenAI's and Groq's reset
 * headers).
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
