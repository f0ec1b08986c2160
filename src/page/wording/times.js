/**
 * Texts for times, for the page and the command line.
 *
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Formats a duration in its two largest units: `3 d 4 h`, `2 h 41 min`, `12 min 30 s`, `45 s`.
 *
 * @param {number} ms Milliseconds. A negative number counts as zero.
 * @returns {string}
 */
export function durationText(ms) {
  const seconds = Math.max(0, Math.floor(ms / SECOND_MS)) * SECOND_MS;
  if (seconds >= DAY_MS) {
    return twoUnits(seconds, [DAY_MS, "d"], [HOUR_MS, "h"]);
  }
  if (seconds >= HOUR_MS) {
    return twoUnits(seconds, [HOUR_MS, "h"], [MINUTE_MS, "min"]);
  }
  return seconds >= MINUTE_MS
    ? twoUnits(seconds, [MINUTE_MS, "min"], [SECOND_MS, "s"])
    : `${seconds / SECOND_MS} s`;
}

/**
 * @param {number} ms
 * @param {readonly [number, string]} large
 * @param {readonly [number, string]} small
 * @returns {string}
 */
function twoUnits(ms, [large, largeName], [small, smallName]) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeName} ${rest} ${smallName}`;
}

/**
 * Formats the time until a window resets: `resets in 2 h 41 min`.
 *
 * @param {Pick<QuotaWindow, "resets_at" | "window">} window
 * @param {number} nowMs Milliseconds since 1970.
 * @returns {string}
 */
export function resetText({ resets_at: resetsAt, window }, nowMs) {
  const resetsAtMs = resetsAt === null ? NaN : Date.parse(resetsAt);
  if (Number.isNaN(resetsAtMs)) {
    return window === "total" ? "no reset" : "reset unknown";
  }
  return resetsAtMs <= nowMs
    ? "reset due"
    : `resets in ${durationText(resetsAtMs - nowMs)}`;
}

/**
 * Formats the time until a window resets, with the reader's own time: `resets in 2 h 41 min, at 15:41`.
 *
 * @param {Pick<QuotaWindow, "resets_at" | "window">} window
 * @param {number} nowMs Milliseconds since 1970.
 * @returns {string}
 */
export function localResetText(window, nowMs) {
  const text = resetText(window, nowMs);
  const atMs = Date.parse(window.resets_at ?? "");
  return atMs > nowMs ? `${text}, ${shortTime(atMs, nowMs)}` : text;
}

/**
 * Formats the requests that wait for a connection: `7 requests waiting, about 20 s`.
 *
 * @param {import("../answers.ts").WaitingRequests} waiting
 * @returns {string}
 */
export function waitingText({ requests, seconds }) {
  const time = seconds > 0 ? `, about ${durationText(1000 * seconds)}` : "";
  return `${requests} ${
    requests === 1 ? "request" : "requests"
  } waiting${time}`;
}

/**
 * Formats what the gateway knows of a connection whose requests fail.
 *
 * @param {import("../answers.ts").FailingRequests} failing
 * @param {number} nowMs
 * @returns {string}
 */
export function failingText({ until, cause }, nowMs) {
  if (cause === undefined) {
    return `After failures, it gets no requests${
      untilText([{ resets_at: until }], nowMs)
    }.`;
  }
  const isKey = cause === "authentication" || cause === "permission";
  const why = isKey ? ": the provider refuses the gateway's key" : "";
  return `Its requests fail${why}. Contact the administrator.`;
}

/**
 * Formats the time at which all of some windows have reset, in the reader's own time: ` until 15:41`, ` until Sat
 * 13:00`.
 *
 * @param {readonly Pick<QuotaWindow, "resets_at">[]} windows
 * @param {number} nowMs Milliseconds since 1970.
 * @returns {string} Empty if a reset is unknown or past.
 */
export function untilText(windows, nowMs) {
  const atMs = Math.max(
    ...windows.map(({ resets_at }) => Date.parse(resets_at ?? "")),
  );
  return atMs > nowMs
    ? ` until ${shortTime(atMs, nowMs).replace(/^at /, "")}`
    : "";
}

/** @param {number} atMs @param {number} nowMs @returns {string} */
function shortTime(atMs, nowMs) {
  const at = new Date(atMs);
  const time = at.toLocaleTimeString("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
  });
  if (atMs - nowMs < DAY_MS) return `at ${time}`;
  return atMs - nowMs < 6 * DAY_MS
    ? `${at.toLocaleDateString("en-GB", { weekday: "short" })} ${time}`
    : at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/**
 * Replaces the instants in a text, such as an error message, by the reader's own times.
 *
 * @param {string} text
 * @returns {string}
 */
export function withLocalTimes(text) {
  return text.replaceAll(
    /\b\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z| \d\d:\d\d UTC\b)/g,
    (instant) =>
      localTime(Date.parse(instant.replace(/ (\S+) UTC/, "T$1Z"))) ?? instant,
  );
}

/**
 * Formats the age of a reading in one unit: `checked 12 s ago`.
 *
 * @param {string} checkedAt ISO 8601.
 * @param {number} nowMs Milliseconds since 1970.
 * @returns {string}
 */
export function checkedText(checkedAt, nowMs) {
  const ageMs = nowMs - Date.parse(checkedAt);
  if (Number.isNaN(ageMs)) return "checked at an unknown time";
  if (ageMs < SECOND_MS) return "checked just now";
  const [count, unit] = durationText(ageMs).split(" ");
  return `checked ${count} ${unit} ago`;
}

/**
 * Formats an instant in the reader's own time zone: `Fri 20 Nov, 13:00 CET`.
 *
 * @param {number} ms Milliseconds since 1970.
 * @returns {string | undefined} Undefined for an invalid instant.
 */
export function localTime(ms) {
  return Number.isNaN(ms) ? undefined : new Date(ms).toLocaleString("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  });
}
