/**
 * How long an upstream asks to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a
 * date.
 *
 * @param nowMs Milliseconds since 1970, for dates.
 * @returns `undefined` when it does not say, or not intelligibly.
 */
export function retryAfterMs(
  headers: Headers,
  nowMs: number = Date.now(),
): number | undefined {
  const ms = Number(headers.get("retry-after-ms") ?? NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds < 0 ? undefined : seconds * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
