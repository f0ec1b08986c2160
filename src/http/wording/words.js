/**
 * How quotas are put into words, for the page and for the command line alike. Everything here is pure.
 *
 * @typedef {import("../../quotas/window.ts").QuotaWindow} QuotaWindow
 */

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const LARGE_NUMBER = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumFractionDigits: 2,
});

/** From here on digits are counted in millions. */
const LARGE = 10_000_000;

/**
 * A number as people write it: `7,119`, `0.25`, `39.6M`.
 *
 * @param {number} value
 * @returns {string}
 */
function numberText(value) {
  return (Math.abs(value) < LARGE ? NUMBER : LARGE_NUMBER).format(value);
}

/**
 * A share: `28.8%`. It is rounded down, so that nothing is called used up before it is.
 *
 * @param {number} percent
 * @returns {string}
 */
export function percentText(percent) {
  if (percent > 0 && percent < SMALLEST_PERCENT) return "under 0.1%";
  return `${NUMBER.format(roundedDown(percent))}%`;
}

/** What shares are told to. */
const SMALLEST_PERCENT = 0.1;

/** @param {number} percent @returns {number} */
function roundedDown(percent) {
  return Math.floor(percent * 10 + 1e-6) / 10;
}

/**
 * An amount in the unit of its window: `7,119 credits`, `$12.50`, `72%`.
 *
 * @param {number} value
 * @param {string} unit The `unit` of a window (docs/quotas.md#fields-of-a-window).
 * @returns {string}
 */
function amountText(value, unit) {
  if (isShare(unit)) {
    return percentText(unit === "percent" ? value : value * 100);
  }
  if (isMoney(unit)) return moneyText(value, unit);
  const noun = NOUNS.get(unit);
  return noun === undefined
    ? numberText(value)
    : `${numberText(value)} ${noun}`;
}

/** Other units have no name that would help. */
const NOUNS = new Map([
  ["credits", "credits"],
  ["tokens", "tokens"],
  ["requests", "requests"],
  ["quota", "quota units"],
]);

/**
 * Whether the amounts of a unit are shares of a whole rather than a number of something.
 *
 * @param {string} unit
 * @returns {boolean}
 */
export function isShare(unit) {
  return unit === "percent" || unit === "fraction";
}

/**
 * Whether a unit is a currency's code of ISO 4217.
 *
 * @param {string} unit
 * @returns {boolean}
 */
function isMoney(unit) {
  return /^[A-Z]{3}$/.test(unit);
}

/**
 * @param {number} value
 * @param {string} currency Three capital letters.
 * @returns {string}
 */
function moneyText(value, currency) {
  return new Intl.NumberFormat("en", {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
  }).format(value);
}

const SINGLE_WINDOWS = new Map([
  ["minute", "1 minute"],
  ["hourly", "1 hour"],
  ["daily", "1 day"],
  ["weekly", "1 week"],
  ["monthly", "1 month"],
  ["yearly", "1 year"],
]);

/**
 * The length of a window: `5 hours`, `1 week`.
 *
 * @param {Pick<QuotaWindow, "window" | "period_count">} window
 * @returns {string}
 */
function periodText({ window, period_count: count }) {
  const single = SINGLE_WINDOWS.get(window);
  if (single !== undefined) return single;
  const unit = window.match(/_(minute|hour|day|week|month|year)$/)?.[1];
  return unit === undefined || count === null
    ? window.replaceAll("_", " ")
    : `${numberText(count)} ${unit}s`;
}

/** A word for each of the gateway's own types. */
const LIMIT_NAMES = new Map([
  ["BALANCE", "balance"],
  ["CREDIT_LIMIT", "credits"],
  ["REQUESTS_LIMIT", "requests"],
  ["SPEND_LIMIT", "spending"],
  ["TIME_LIMIT", "tool calls"],
  ["TOKENS_LIMIT", "tokens"],
  ["USAGE_LIMIT", "usage"],
]);

/**
 * What a window limits: `credits`, `usage, opus`.
 *
 * @param {string} type The `type` of a window.
 * @returns {string}
 */
function limitText(type) {
  const [kind = "", ...scope] = type.split(":");
  const name = LIMIT_NAMES.get(kind.toUpperCase()) ??
    kind.toLowerCase().replace(/_limit$/, "").replaceAll("_", " ");
  return scope.length === 0
    ? name
    : `${name}, ${scope.join(":").replaceAll("_", " ")}`;
}

/**
 * What a window is called: `5 hours`, and in detail `credits`. Where there is no period, the limit is the
 * name.
 *
 * @param {QuotaWindow} window
 * @returns {readonly [name: string, detail: string]}
 */
export function nameParts(window) {
  const limit = limitText(window.type);
  if (window.window === "unknown") return [limit, "over an unknown period"];
  if (window.window === "total") {
    return [limit, window.limit === null ? "" : "in total"];
  }
  return [periodText(window), limit];
}

/**
 * How much of a window is used: `28.8% used`, `2,880 credits used`, `use unknown`; and, where that is known, how much of
 * it by the reader's token: `28.8% used, 4.2% by you`. Nothing for a stock, of which only the rest is told.
 *
 * @param {import("./own_use.js").WindowWithUse} window
 * @returns {string}
 */
export function usedText(
  { used_percent: percent, your_percent: yours, used, remaining, unit },
) {
  if (percent !== null) {
    const own = yours === undefined ? "" : `, ${percentText(yours)} by you`;
    return `${percentText(percent)} used${own}`;
  }
  if (used !== null) return `${amountText(used, unit)} used`;
  return remaining === null ? "use unknown" : "";
}

/**
 * The share that is left, so that it and the one that is used make 100% as they are shown.
 *
 * @param {QuotaWindow} window
 * @returns {number | null} In percent; null where it is unknown.
 */
export function leftPercent({ used_percent: used, remaining, unit }) {
  if (used !== null) {
    if (used > 0 && used < SMALLEST_PERCENT) return 100 - SMALLEST_PERCENT;
    return Math.max(0, Math.round(1000 - 10 * roundedDown(used)) / 10);
  }
  if (remaining === null || !isShare(unit)) return null;
  return unit === "percent" ? remaining : remaining * 100;
}

/**
 * How much of a window is left: `7,119 of 10,000 credits left`, `72% left`, `left unknown`.
 *
 * @param {QuotaWindow} window
 * @returns {string}
 */
export function leftText(window) {
  const { type, remaining, limit, unit } = window;
  if (remaining !== null && isShare(unit)) {
    return `${percentText(leftPercent(window) ?? 0)} left`;
  }
  // Where the limit is called by its unit, once is enough.
  const text = (/** @type {number} */ value) =>
    limitText(type) === unit ? numberText(value) : amountText(value, unit);
  const whole = limit === null || isShare(unit) ? "" : text(limit);
  if (remaining === null) {
    return whole === "" ? "left unknown" : `left of ${whole} unknown`;
  }
  if (whole === "") return `${text(remaining)} left`;
  const rest = isMoney(unit) ? text(remaining) : numberText(remaining);
  return `${rest} of ${whole} left`;
}
