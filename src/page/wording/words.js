/**
 * Texts for quotas, for the page and the command line. Pure functions.
 *
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 */

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const LARGE_NUMBER = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumFractionDigits: 2,
});

/** From here on, numbers are shown in millions. */
const LARGE = 10_000_000;

/**
 * Formats a number: `7,119`, `0.25`, `39.6M`.
 *
 * @param {number} value
 * @returns {string}
 */
function numberText(value) {
  return (Math.abs(value) < LARGE ? NUMBER : LARGE_NUMBER).format(value);
}

/**
 * Formats a share: `28.8%`. The share is rounded down, so that a quota never shows as used up too early.
 *
 * @param {number} percent
 * @returns {string}
 */
export function percentText(percent) {
  if (percent > 0 && percent < SMALLEST_PERCENT) return "under 0.1%";
  return `${NUMBER.format(roundedDown(percent))}%`;
}

/** The precision of shares. */
const SMALLEST_PERCENT = 0.1;

/** @param {number} percent @returns {number} */
function roundedDown(percent) {
  return Math.floor(percent * 10 + 1e-6) / 10;
}

/**
 * Formats an amount in the unit of its window: `7,119 credits`, `$12.50`, `72%`.
 *
 * @param {number} value
 * @param {string} unit The `unit` of a window (docs/quotas.md#fields-of-a-window).
 * @returns {string}
 */
export function amountText(value, unit) {
  if (isShare(unit)) {
    return percentText(unit === "percent" ? value : value * 100);
  }
  if (isMoney(unit)) return moneyText(value, unit);
  const noun = NOUNS.get(unit);
  if (noun === undefined) return numberText(value);
  return `${numberText(value)} ${value === 1 ? noun.slice(0, -1) : noun}`;
}

/** The names of units that follow a number; other units have no useful name. */
const NOUNS = new Map([
  ["credits", "credits"],
  ["tokens", "tokens"],
  ["requests", "requests"],
  ["quota", "quota units"],
]);

/**
 * Returns true when a unit is a share of a whole.
 *
 * @param {string} unit
 * @returns {boolean}
 */
function isShare(unit) {
  return unit === "percent" || unit === "fraction";
}

/**
 * Returns true when a unit is a currency code of ISO 4217.
 *
 * @param {string} unit
 * @returns {boolean}
 */
function isMoney(unit) {
  return /^[A-Z]{3}$/.test(unit);
}

/**
 * Formats money: `$12.50`, and `$0.0017` below a cent.
 *
 * @param {number} value
 * @param {string} currency Three capital letters.
 * @returns {string}
 */
function moneyText(value, currency) {
  const isTiny = value !== 0 && Math.abs(value) < 0.01;
  return new Intl.NumberFormat("en", {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    ...(isTiny ? { maximumSignificantDigits: 2 } : {}),
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
 * Formats the length of a window: `5 hours`, `1 week`.
 *
 * @param {Pick<QuotaWindow, "window" | "period_count">} window
 * @returns {string}
 */
function periodText({ window, period_count: count }) {
  const single = SINGLE_WINDOWS.get(window);
  if (single !== undefined) return single;
  const [, first = "", unit] =
    window.match(/^(.+)_(minute|hour|day|week|month|year)$/) ?? [];
  if (unit === undefined) return window.replaceAll("_", " ");
  const index = COUNT_WORDS.indexOf(first);
  const known = count ?? (index < 0 ? undefined : index + FIRST_COUNT);
  return `${known === undefined ? first : numberText(known)} ${unit}s`;
}

/** The counts in names of windows, such as `five_hour`. */
const COUNT_WORDS = "two three four five six seven eight nine ten eleven twelve"
  .split(" ");
const FIRST_COUNT = 2;

/** The names of the gateway's own types. Each name says what a window has left, not what was used. */
const LIMIT_NAMES = new Map([
  ["BALANCE", "balance"],
  ["CREDIT_LIMIT", "credits"],
  ["REQUESTS_LIMIT", "requests"],
  ["SPEND_LIMIT", "money"],
  ["TIME_LIMIT", "tool calls"],
  ["TOKENS_LIMIT", "tokens"],
  ["USAGE_LIMIT", "quota"],
]);

/**
 * Returns the name of a limit: `credits`, `quota, opus`.
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
 * Returns the name of a window: `5 hours`, with the detail `credits`. If a window has no period, its name is that of
 * the limit.
 *
 * @param {QuotaWindow & { readonly counts?: string | undefined }} window `counts` names the part that a limit counts.
 * @returns {readonly [name: string, detail: string]}
 */
export function nameParts(window) {
  const { type, counts } = window;
  const limit = limitText(type) + (counts ? `, ${counts}` : "");
  if (window.window === "unknown") return [limit, "over an unknown period"];
  if (window.window === "total") {
    return [limit, window.limit === null ? "" : "in total"];
  }
  return [periodText(window), limit];
}

/**
 * Formats the usage of a window: `28.8% used`, `2,880 credits used`, `usage unknown`. The token's own share follows
 * when it is known: `28.8% used, 4.2% by you`. Empty for a balance, because a balance has only a remainder.
 *
 * @param {import("./own_use.js").WindowWithUse} window
 * @returns {string}
 */
export function usedText(
  { used_percent: percent, your_percent: yours, used, remaining, unit },
) {
  if (percent !== null) {
    const own = yours === undefined ? "" : `, ${percentText(yours)} by you`;
    // A gateway rounds a tiny share to 0.
    const isTiny = percent === 0 && used !== null && used > 0;
    return `${percentText(isTiny ? SMALLEST_PERCENT / 2 : percent)} used${own}`;
  }
  if (used !== null) return `${amountText(used, unit)} used`;
  return remaining === null ? "usage unknown" : "";
}

/**
 * Returns the share left. The result and the displayed used share together make 100%.
 *
 * @param {QuotaWindow} window
 * @returns {number | null} In percent. Null when it is unknown.
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
 * Formats the amount left in a window: `7,119 of 10,000 credits left`, `72% left`, `left unknown`.
 *
 * @param {QuotaWindow} window
 * @returns {string}
 */
export function leftText(window) {
  const { type, remaining, limit, unit } = window;
  if (remaining !== null && isShare(unit)) {
    return `${percentText(leftPercent(window) ?? 0)} left`;
  }
  // When the limit has the name of its unit, the unit is not repeated.
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

/**
 * Adds a period to a message that has no end mark.
 *
 * @param {string} message
 * @returns {string}
 */
export function asSentence(message) {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
