import type { HeaderFields } from "../../core/header_fields.ts";
import {
  durationMs,
  instantAfter,
  instantOfSeconds,
  instantOfText,
} from "../instant.ts";

const NUMBER_REGEXP = /^-?\d{1,15}(\.\d{1,15})?$/;

/** The number in a header; null when it is absent or no number. */
export function headerNumber(
  headers: HeaderFields,
  name: string,
): number | null {
  const value = headers.get(name) ?? "";
  return NUMBER_REGEXP.test(value) ? Number(value) : null;
}

/** Above this a bare number of seconds is an instant, not a delay. */
const EPOCH_SECONDS_FLOOR = 1e9;

/**
 * The instant in a reset header. There are four ways to write it: a duration (`6m0s`, OpenAI and Groq),
 * seconds to wait (Cerebras), seconds since 1970 (DigitalOcean) and RFC 3339 (Anthropic).
 *
 * @param seenAtMs When the header arrived, in milliseconds since 1970.
 * @returns ISO 8601 in UTC; null when the header is absent or none of these.
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
