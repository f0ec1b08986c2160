/**
 * The severity of quotas, for the page and the command line. Pure functions.
 *
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 */

/**
 * The severity of a window. Colour alone must not show the severity, so a text of {@linkcode LEVEL_TEXTS} is always
 * present.
 *
 * @typedef {"unknown" | "plenty" | "low" | "scarce" | "gone" | "over"} Level
 */

const LOW_PERCENT = 75;
const SCARCE_PERCENT = 90;

/**
 * @param {Pick<QuotaWindow, "used_percent" | "remaining">} window
 * @returns {Level}
 */
export function levelOf({ used_percent: percent, remaining }) {
  if (percent === null) {
    if (remaining === null) return "unknown";
    return remaining > 0 ? "plenty" : "gone";
  }
  if (percent > 100) return "over";
  if (percent === 100) return "gone";
  if (percent >= SCARCE_PERCENT) return "scarce";
  return percent >= LOW_PERCENT ? "low" : "plenty";
}

/** All levels, from the least to the most severe. */
const LEVELS = /** @type {const} */ (
  ["unknown", "plenty", "low", "scarce", "gone", "over"]
);

/** @type {Readonly<Record<Level, string>>} */
export const LEVEL_TEXTS = {
  unknown: "unknown",
  plenty: "plenty left",
  low: "getting low",
  scarce: "nearly used up",
  gone: "used up",
  over: "over the limit",
};

/**
 * Returns a number to order windows by: a more severe level first, then the greater share used.
 *
 * @param {QuotaWindow} window
 * @returns {number}
 */
function urgencyOf(window) {
  return 1000 * LEVELS.indexOf(levelOf(window)) + (window.used_percent ?? 0);
}

const SCARCE = 1000 * LEVELS.indexOf("scarce");
const USED_UP = 1000 * LEVELS.indexOf("gone");

/** @param {QuotaWindow} window @returns {boolean} True when nothing is left. */
export function isUsedUp(window) {
  return urgencyOf(window) >= USED_UP;
}

/** Returns {@linkcode informativeWindows}, the most urgent first. @param {readonly QuotaWindow[]} windows */
export function urgentWindows(windows) {
  return informativeWindows(windows)
    .toSorted((one, other) => urgencyOf(other) - urgencyOf(one));
}

/**
 * Returns the cards with the most urgent first. Cards with enough left follow in their own order. Failing requests
 * count like a used-up quota.
 *
 * @template {{ readonly limits: readonly QuotaWindow[], readonly failing?: unknown }} Card
 * @param {readonly Card[]} cards
 * @returns {readonly Card[]}
 */
export function mostUrgentFirst(cards) {
  const urgency = (/** @type {Card} */ { limits, failing }) => {
    const most = Math.max(0, ...informativeWindows(limits).map(urgencyOf));
    if (failing !== undefined) return Math.max(most, USED_UP);
    return most >= SCARCE ? most : 0;
  };
  return cards.toSorted((one, other) => urgency(other) - urgency(one));
}

/**
 * Returns the windows that show how much a connection has left. Requests can use any balance with money, so empty
 * balances are left out when another balance has money.
 *
 * @param {readonly QuotaWindow[]} windows
 * @returns {readonly QuotaWindow[]}
 */
function informativeWindows(windows) {
  const balances = windows.filter(({ type }) =>
    type.split(":")[0] === "BALANCE"
  );
  const empty = balances.filter((one) => levelOf(one) === "gone");
  const hasMoney = balances.some(({ remaining }) => (remaining ?? 0) > 0);
  return hasMoney ? windows.filter((one) => !empty.includes(one)) : windows;
}
