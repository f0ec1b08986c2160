import type { HeaderFields } from "./header_fields.ts";
import type { Protocol } from "./protocol.ts";

/** No quota runs longer than a month; a longer wait, in milliseconds, means nothing. */
const MAX_MEANT_MS = 35 * 86_400_000;

/**
 * The longest wait that is passed on, in milliseconds. The timers of clients hold no more than 31 bits, and one that
 * is set for longer rings at once:
 * https://developer.mozilla.org/docs/Web/API/Window/setTimeout#maximum_delay_value
 */
const MAX_WAIT_MS = 2_147_483_000;

/** A header that asks a client to wait. */
type WaitHeader = "retry-after" | "retry-after-ms";

/**
 * Returns a wait in milliseconds, shortened to what a timer holds; `undefined` for one that is negative, no number, or
 * longer than any quota can mean.
 */
export function saneWaitMs(ms: number): number | undefined {
  return ms >= 0 && ms <= MAX_MEANT_MS ? Math.min(ms, MAX_WAIT_MS) : undefined;
}

/**
 * Returns a wait as the value of `retry-after`: whole seconds, no more than a timer holds.
 *
 * @param ms Not negative.
 */
export function retryAfterText(ms: number): string {
  return String(Math.ceil(Math.min(ms, MAX_WAIT_MS) / 1000));
}

/**
 * Returns how long an upstream asks to wait, in milliseconds: by `retry-after-ms`, else by `retry-after`.
 *
 * @param nowMs Milliseconds since 1970, for dates.
 * @returns `undefined` where neither header has a wait that {@linkcode saneWaitMs} accepts.
 */
export function retryAfterMs(
  headers: HeaderFields,
  nowMs: number,
): number | undefined {
  return waitIn("retry-after-ms", headers.get("retry-after-ms"), nowMs) ??
    waitIn("retry-after", headers.get("retry-after"), nowMs);
}

/**
 * Returns an upstream's wait as a client gets it: unchanged, or the longest that a timer holds.
 *
 * @param nowMs Milliseconds since 1970, for dates.
 * @returns `undefined` where it is no wait that {@linkcode saneWaitMs} accepts.
 */
export function saneWaitHeader(
  name: WaitHeader,
  value: string,
  nowMs: number,
): string | undefined {
  const ms = waitIn(name, value, nowMs);
  if (ms === undefined) return undefined;
  return ms < MAX_WAIT_MS ? value : String(MAX_WAIT_MS / UNIT_MS[name]);
}

const UNIT_MS = { "retry-after": 1000, "retry-after-ms": 1 } as const;

function waitIn(
  name: WaitHeader,
  value: string | null | undefined,
  nowMs: number,
): number | undefined {
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) {
    return saneWaitMs(Number(value) * UNIT_MS[name]);
  }
  return name === "retry-after"
    ? saneWaitMs(Math.max(0, dateMs(value) - nowMs))
    : undefined;
}

/** The three forms of an HTTP date (RFC 9110, section 5.6.7); `Date.parse()` alone finds dates in much else. */
const HTTP_DATE_REGEXP =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:\d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})( (?:GMT|UTC|[+-]\d{4}))?$/;

function dateMs(value: string): number {
  const [date, zone] = HTTP_DATE_REGEXP.exec(value) ?? [];
  // Without a zone, `Date.parse()` takes the one of this machine.
  return date === undefined ? NaN : Date.parse(zone ? date : `${date} GMT`);
}

/**
 * Returns the headers of an error that no repetition helps against. No single header stops every client, so each of
 * these serves those that ignore the others (docs/failover.md#retry-or-stop):
 *
 * - `x-should-retry: false` stops the SDKs of OpenAI and Anthropic, Claude Code at 429 and 5xx, and Qwen Code over
 *   Responses.
 * - Codex repeats nearly every error 5 to 30 times and waits for `retry-after` each time, however long it is; opencode
 *   repeats 429 and 5xx 5 times and prefers `retry-after-ms`. Short waits bring both to their end within seconds. One
 *   second rather than none, since versions of opencode before 1.18 repeat without limit.
 * - Claude Code repeats 401 and 403 10 times where a command gives it the token, as our settings do. It stops only at a
 *   `retry-after` of more than a minute.
 */
export function stopHeaders(
  protocol: Protocol,
  status: number,
): Readonly<Record<string, string>> {
  const isCredential = status === 401 || status === 403;
  return {
    "x-should-retry": "false",
    "retry-after": protocol === "messages" && isCredential ? "61" : "0",
    "retry-after-ms": "1000",
  };
}
