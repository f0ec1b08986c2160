import type { HeaderFields } from "./header_fields.ts";
import type { Protocol } from "./protocol.ts";

/** The longest plausible wait, in milliseconds. No quota runs longer than a month. */
const MAX_PLAUSIBLE_MS = 35 * 86_400_000;

/**
 * The longest wait that is forwarded, in milliseconds. The timers of clients hold 31 bits, and a longer delay fires at
 * once: https://developer.mozilla.org/docs/Web/API/Window/setTimeout#maximum_delay_value
 */
const MAX_WAIT_MS = 2_147_483_000;

/** A header that asks a client to wait. */
type WaitHeader = "retry-after" | "retry-after-ms";

/**
 * Returns a wait in milliseconds. Returns `undefined` if the wait is negative, not a number, or longer than any quota.
 * The returned wait can be longer than a timer holds.
 */
export function saneWaitMs(ms: number): number | undefined {
  return ms >= 0 && ms <= MAX_PLAUSIBLE_MS ? ms : undefined;
}

/**
 * Returns a wait as the value of `retry-after`: whole seconds, at most the longest wait that a timer holds.
 *
 * @param ms Not negative.
 */
export function retryAfterText(ms: number): string {
  return String(Math.ceil(Math.min(ms, MAX_WAIT_MS) / 1000));
}

/**
 * Returns the wait that an upstream asks for, in milliseconds: from `retry-after-ms`, else from `retry-after`.
 *
 * @param nowMs Milliseconds since 1970, for dates.
 * @returns `undefined` when neither header has a wait that {@linkcode saneWaitMs} accepts.
 */
export function retryAfterMs(
  headers: HeaderFields,
  nowMs: number,
): number | undefined {
  return waitIn("retry-after-ms", headers.get("retry-after-ms"), nowMs) ??
    waitIn("retry-after", headers.get("retry-after"), nowMs);
}

/**
 * Returns the value of an upstream's wait header for the client: unchanged, or the longest allowed wait.
 *
 * @param nowMs Milliseconds since 1970, for dates.
 * @param maxMs The longest wait, in milliseconds; default: the longest wait that a timer holds.
 * @returns `undefined` when {@linkcode saneWaitMs} rejects the wait.
 */
export function saneWaitHeader(
  name: WaitHeader,
  value: string,
  nowMs: number,
  maxMs = MAX_WAIT_MS,
): string | undefined {
  const ms = waitIn(name, value, nowMs);
  if (ms === undefined) return undefined;
  return ms <= maxMs ? value : String(Math.ceil(maxMs / UNIT_MS[name]));
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

/** The three forms of an HTTP date (RFC 9110, section 5.6.7). `Date.parse()` alone accepts much more. */
const HTTP_DATE_REGEXP =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:\d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})( (?:GMT|UTC|[+-]\d{4}))?$/;

function dateMs(value: string): number {
  const [date, zone] = HTTP_DATE_REGEXP.exec(value) ?? [];
  // Without a zone, `Date.parse()` uses the zone of this machine.
  return date === undefined ? NaN : Date.parse(zone ? date : `${date} GMT`);
}

/**
 * Returns the headers of an error that no retry can mend. No single header stops every client, so each one covers
 * clients that ignore the others (docs/failover.md#retry-or-stop):
 *
 * - `x-should-retry: false` stops the SDKs of OpenAI and Anthropic, Claude Code at 429 and 5xx, and Qwen Code over
 *   Responses.
 * - Codex retries nearly every error 5 to 30 times and waits for any `retry-after` each time. opencode retries 429 and
 *   5xx 5 times and prefers `retry-after-ms`. With a short wait, Codex and opencode give up within seconds. The wait is
 *   one second rather than none, because versions of opencode before 1.18 retry without limit.
 * - Claude Code retries a 401 or 403 10 times when a command supplies its token, as our settings do. Claude Code stops
 *   only at a `retry-after` of more than a minute.
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
