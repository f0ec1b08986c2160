import { failureMeaning } from "../wording/failures.js";
import { informativeWindows, levelOf, LEVELS } from "../wording/level.js";
import { leftText, nameParts, usedText } from "../wording/words.js";

/**
 * @typedef {import("../../quotas/list.ts").ConnectionEntry} ConnectionEntry
 * @typedef {import("../../quotas/window.ts").QuotaWindow} QuotaWindow
 */

/**
 * Returns the most important facts: the window with the least left, and the number of unread connections.
 *
 * @param {readonly ConnectionEntry[]} entries
 * @returns {string}
 */
export function summaryText(entries) {
  if (entries.length === 0) {
    return "No connection is assigned to this token. Ask the administrator.";
  }
  const parts = [tightestText(entries), unreadText(entries)];
  return parts.filter((part) => part !== "").join(" ");
}

/** @param {readonly ConnectionEntry[]} entries @returns {string} */
function tightestText(entries) {
  const [tightest] = entries
    .flatMap(({ name, limits }) =>
      informativeWindows(limits).map((window) => ({ name, window }))
    )
    .filter(({ window }) => isMeasured(window))
    .sort((one, other) => urgency(other.window) - urgency(one.window));
  if (tightest === undefined) return "";
  const { name, window } = tightest;
  const amounts = [usedText(window), leftText(window)]
    .filter((text) => text !== "").join(", ");
  return `Most used: ${name} (${
    nameParts(window).join(" ").trim()
  }), ${amounts}.`;
}

/**
 * Returns true when the usage is known. That of a balance is unknown until nothing is left.
 *
 * @param {QuotaWindow} window
 * @returns {boolean}
 */
function isMeasured(window) {
  return window.used_percent !== null || levelOf(window) === "gone";
}

/** @param {QuotaWindow} window @returns {number} */
function urgency(window) {
  return LEVELS.indexOf(levelOf(window)) * 1000 + (window.used_percent ?? 0);
}

/** @param {readonly ConnectionEntry[]} entries @returns {string} */
function unreadText(entries) {
  const count =
    entries.filter(({ status, error }) =>
      status === "unavailable" &&
      !(error !== undefined && failureMeaning(error.type).isCalm)
    ).length;
  if (count === 0) return "";
  return count === 1
    ? "The quota of one connection could not be read."
    : `The quotas of ${count} connections could not be read.`;
}
