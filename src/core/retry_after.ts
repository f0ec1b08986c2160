/**
 * How long an upstream asks to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a
 * date.
 *
 * @param nowMs Milliseconds since 1970, for dates.
 * @returns `undefined` when it does not say, or not intelligibly.
 */
export function retryAfterMs(
  headers: Headers,
  nowMs: number,
): number | undefined {
  const ms = numberIn(headers.get("retry-after-ms"));
  if (ms !== undefined) return ms;
  const value = headers.get("retry-after");
  const seconds = numberIn(value);
  if (seconds !== undefined) return seconds * 1000;
  // An HTTP date begins with its weekday; Date.parse() sees dates in much else.
  const dateMs = value !== null && /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value)
    ? Date.parse(value)
    : NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

function numberIn(value: string | null): number | undefined {
  return value !== null && /^\d+(\.\d+)?$/.test(value)
    ? Number(value)
    : undefined;
}
