import { isJsonObject, type JsonValue } from "@gateway/base/json";
import { saneWaitMs } from "@gateway/base/retry_after";
import type { Failure } from "./failure.ts";
import type { Clues } from "./refusal.ts";

const DELAY_KEY_REGEXP =
  /(?:retry(?:delay|after|in)|resets?(?:in|after|delay))(?:seconds|secs|sec|ms|milliseconds)?$/;
const INSTANT_KEY_REGEXP =
  /(?:^|limit|quota|window|usage)resets?(?:at|on|time|timestamp|date|ms)?$|^(?:available|retry)at$|^next(?:reset|flush)time$/;

/**
 * Reads the time when an error ends from a field of any spelling (`RetryInfo.retryDelay`, `resets_at`,
 * `X-RateLimit-Reset`), or else from words ("try again in 1.4s", "will reset at 2026-11-29 00:43:31", "3小时25分钟后").
 *
 * @param isBeijing True when dates without a zone are in Beijing's time. Z.ai and BigModel send such dates.
 */
export function readTimes(
  { members, texts }: Pick<Clues, "members" | "texts">,
  isBeijing: boolean,
): Pick<Failure, "retryAfterMs" | "resetsAtMs" | "resetsDaily"> {
  for (const [key, value] of members) {
    const name = key.toLowerCase().replace(/[^a-z]/g, "");
    const isDelay = DELAY_KEY_REGEXP.test(name);
    if (!isDelay && !INSTANT_KEY_REGEXP.test(name)) continue;
    const resetsAtMs = isDelay ? undefined : instantOf(value, isBeijing);
    if (resetsAtMs !== undefined) return { resetsAtMs };
    const retryAfterMs = delayOf(value, name.endsWith("ms") ? 1 : 1000);
    if (retryAfterMs !== undefined) return { retryAfterMs };
  }
  for (const text of texts) {
    const resetsAtMs = instantIn(text, isBeijing);
    if (resetsAtMs !== undefined) return { resetsAtMs };
    const retryAfterMs = delayIn(text);
    if (retryAfterMs !== undefined) return { retryAfterMs };
    const time = TIME_REGEXP.exec(text)?.[1];
    // At 07:00 UTC, for example, it is midnight in the zone `-07:00`.
    if (time !== undefined) return { resetsDaily: `-${time}` };
  }
  return {};
}

/** Matches the time of day at which a limit resets, such as "resets at 10:00 UTC". */
const TIME_REGEXP =
  /\bresets? at ([01]\d:[0-5]\d|2[0-3]:[0-5]\d) ?(?:UTC|GMT|Z)\b/i;

const MS_BY_UNIT: readonly (readonly [unit: RegExp, ms: number])[] = [
  [/^(?:ms|milli|毫秒)/i, 1],
  [/^(?:s|秒)/i, 1000],
  [/^(?:m|分)/i, 60_000],
  [/^(?:h|小时)/i, 3_600_000],
  [/^(?:d|天)/i, 86_400_000],
];

const PART = String
  .raw`(\d{1,9}(?:\.\d{1,9})?)\s*(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|毫秒|秒|分钟|分|小时|天)`;
const DELAY = String.raw`(?:${PART}(?![a-z])(?:,|\s|and)*)+`;
const WHOLE_DELAY_REGEXP = new RegExp(`^${DELAY}$`, "i");
const DELAY_REGEXP = new RegExp(
  String
    .raw`(?:again|retry|reset\w*|wait|available|renew\w*)[^.;\d]{0,40}?(?<delay>${DELAY})|retry[- _]?after:? (?<bare>\d{1,9})(?![\w:-]|\.\d)|(?<chinese>${DELAY})[之以]?后`,
  "i",
);

function delayIn(text: string): number | undefined {
  const { delay, bare, chinese } = DELAY_REGEXP.exec(text)?.groups ?? {};
  return delayOf(delay ?? bare ?? chinese, 1000);
}

/** Reads a number, `"3.2s"`, `"2h31m"` or protobuf's `{ seconds, nanos }`, in milliseconds. */
function delayOf(
  value: JsonValue | undefined,
  unitMs: number,
): number | undefined {
  if (isJsonObject(value)) return delayOf(value.seconds, 1000);
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text === "") return undefined;
  if (!WHOLE_DELAY_REGEXP.test(text)) {
    return saneWaitMs(Math.ceil(Number(text) * unitMs));
  }
  let sumMs = 0;
  for (const [, amount, unit = ""] of text.matchAll(new RegExp(PART, "gi"))) {
    const [, ms = NaN] = MS_BY_UNIT.find(([name]) => name.test(unit)) ?? [];
    sumMs += Number(amount) * ms;
  }
  return saneWaitMs(Math.ceil(sumMs));
}

const DATE = String
  .raw`(\d{4}[-/]\d\d[-/]\d\d)(?:T| at |\s+)(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?`;
const DATE_REGEXP = new RegExp(`^${DATE}`, "i");
const EPOCH = String.raw`\b[12]\d{9}(?:\d{3})?\b`;
const INSTANT_REGEXP = new RegExp(
  String
    .raw`(?:reset|again|available|access|until|renew|after|retry|reached\||[在于至])\D{0,40}?(?<instant>${DATE}|${EPOCH})|(?<chinese>${DATE})\s*[之以]?后?(?:重置|恢复|刷新)`,
  "i",
);

function instantIn(text: string, isBeijing: boolean): number | undefined {
  const { instant, chinese } = INSTANT_REGEXP.exec(text)?.groups ?? {};
  return instantOf(instant ?? chinese, isBeijing);
}

/** Parses a time given as seconds or milliseconds since 1970, or as a date. Returns milliseconds since 1970. */
function instantOf(
  value: JsonValue | undefined,
  isBeijing: boolean,
): number | undefined {
  const number = typeof value === "object" ? NaN : Number(value);
  if (number >= 1e9) return number >= 1e12 ? number : 1000 * number;
  const [, date, time, zone = isBeijing ? "+08:00" : "Z"] =
    DATE_REGEXP.exec(String(value)) ?? [];
  if (date === undefined) return undefined;
  const offset = /^[+-]/.test(zone) ? zone.replace(/^(...):?/, "$1:") : "Z";
  const ms = Date.parse(`${date.replaceAll("/", "-")}T${time}${offset}`);
  return Number.isNaN(ms) ? undefined : ms;
}
