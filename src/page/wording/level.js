/**
 * The severity of quotas, for the page and the command line. Pure functions.
 *
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 */

/**
 * The severity of a window. Colour alone must not show it, so its text is always present: {@linkcode LEVEL_TEXTS}.
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

/** From the least to the most severe. */
export const LEVELS = /** @type {const} */ (
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
 * Returns the most severe of some levels.
 *
 * @param {readonly Level[]} levels
 * @returns {Level}
 */
export function worstLevel(levels) {
  return LEVELS[Math.max(0, ...levels.map((level) => LEVELS.indexOf(level)))] ??
    "unknown";
}

/**
 * Returns the windows with nothing left, of those in {@linkcode informativeWindows}.
 *
 * @param {readonly QuotaWindow[]} windows
 * @returns {readonly QuotaWindow[]}
 */
export function usedUpWindows(windows) {
  return informativeWindows(windows).filter((one) =>
    LEVELS.indexOf(levelOf(one)) >= LEVELS.indexOf("gone")
  );
}

/**
 * Returns a number to order windows by: a more severe level first, then the greater share used.
 *
 * @param {QuotaWindow} window
 * @returns {number}
 */
export function urgencyOf(window) {
  return 1000 * LEVELS.indexOf(levelOf(window)) + (window.used_percent ?? 0);
}

/**
 * Returns the cards with little or nothing left first, the most urgent before the others. Those with enough keep their
 * order. Failing requests count like a used-up quota.
 *
 * @template {{ readonly limits: readonly QuotaWindow[], readonly failing?: unknown }} Card
 * @param {readonly Card[]} cards
 * @returns {readonly Card[]}
 */
export function mostUrgentFirst(cards) {
  const urgency = (/** @type {Card} */ { limits, failing }) => {
    const most = Math.max(0, ...informativeWindows(limits).map(urgencyOf));
    if (failing !== undefined) return Math.max(most, FAILING);
    return most >= URGENT ? most : 0;
  };
  return cards.toSorted((one, other) => urgency(other) - urgency(one));
}

const URGENT = 1000 * LEVELS.indexOf("scarce");
const FAILING = 1000 * LEVELS.indexOf("gone");

/**
 * Returns the windows that show how much a connection has left. One balance can replace another, so an empty one is
 * left out when another has money.
 *
 * @param {readonly QuotaWindow[]} windows
 * @returns {readonly QuotaWindow[]}
 */
export function informativeWindows(windows) {
  const balances = windows.filter(({ type }) =>
    type.split(":")[0] === "BALANCE"
  );
  const empty = balances.filter((one) => levelOf(one) === "gone");
  const hasMoney = balances.some(({ remaining }) => (remaining ?? 0) > 0);
  return hasMoney ? windows.filter((one) => !empty.includes(one)) : windows;
}
