import type { HeaderFields } from "./header_fields.ts";

/**
 * The longest wait that is believed and passed on, in milliseconds. The timers of clients hold no more than 31
 * bits, and one that is set for longer rings at once:
 * https://developer.mozilla.org/docs/Web/API/Window/setTimeout#maximum_delay_value
 */
const MAX_WAIT_MS = 2_147_483_000;

/** A wait in milliseconds as far as it makes sense; `undefined` for one that is negative, infinite or no number. */
export function saneWaitMs(ms: number): number | undefined {
  return ms >= 0 && ms < Infinity ? Math.min(ms, MAX_WAIT_MS) : undefined;
}

/**
 * A wait as the value of `retry-after`: whole seconds, as many as it makes sense to tell.
 *
 * @param ms Not negative.
 */
export function retryAfterText(ms: number): string {
  return String(Math.ceil(Math.min(ms, MAX_WAIT_MS) / 1000));
}

/**
 * How long an upstream asks to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a
 * date.
 *
 * @param nowMs Milliseconds since 1970, for dates.
 * @returns `undefined` when it does not say, or not intelligibly; no more than timers can hold.
 */
export function retryAfterMs(
  headers: HeaderFields,
  nowMs: number,
): number | undefined {
  const ms = numberIn(headers.get("retry-after-ms"));
  if (ms !== undefined) return saneWaitMs(ms);
  const value = headers.get("retry-after");
  const seconds = numberIn(value);
  if (seconds !== undefined) return saneWaitMs(seconds * 1000);
  const dateMs = dateIn(value);
  return Number.isNaN(dateMs)
    ? undefined
    : saneWaitMs(Math.max(0, dateMs - nowMs));
}

/**
 * An upstream's `retry-after` or `retry-after-ms` as callers may have it.
 *
 * @returns As it came where it makes sense; the longest wait in place of a longer one; `undefined` for what is
 * neither a number nor a date.
 */
export function saneWaitHeader(
  name: "retry-after" | "retry-after-ms",
  value: string,
): string | undefined {
  const unitMs = name === "retry-after" ? 1000 : 1;
  const amount = numberIn(value);
  if (amount === undefined) {
    return Number.isNaN(dateIn(value)) ? undefined : value;
  }
  const ms = saneWaitMs(amount * unitMs);
  if (ms === undefined) return undefined;
  return ms < MAX_WAIT_MS ? value : String(ms / unitMs);
}

/** An HTTP date begins with its weekday; `Date.parse()` sees dates in much else. */
function dateIn(value: string | null | undefined): number {
  return value && /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value)
    ? Date.parse(value)
    : NaN;
}

function numberIn(value: string | null | undefined): number | undefined {
  return value && /^\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
}
