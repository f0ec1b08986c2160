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
  const ms = numberIn(headers.get("retry-after-ms"));
  if (ms !== undefined) return ms;
  const value = headers.get("retry-after");
  const seconds = numberIn(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = value === null || /^[-+\d]/.test(value)
    ? NaN
    : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function numberIn(value: string | null): number | undefined {
  return value !== null && /^\d+(\.\d+)?$/.test(value)
    ? Number(value)
    : undefined;
}
