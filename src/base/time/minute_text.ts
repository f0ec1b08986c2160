const MINUTE_MS = 60_000;

/**
 * Returns the end of a wait for people, such as `2026-11-24 00:00 UTC`. The time is rounded up to the minute, because
 * requests are refused until the wait ends.
 *
 * @param ms Milliseconds since 1970.
 */
export function minuteText(ms: number): string {
  return new Date(Math.ceil(ms / MINUTE_MS) * MINUTE_MS).toISOString()
    .replace("T", " ").replace(":00.000Z", " UTC");
}
