import { failureMeaning } from "../wording/failures.js";
import { informativeWindows, levelOf, LEVELS } from "../wording/level.js";
import { leftText, nameParts } from "../wording/words.js";

/**
 * @typedef {import("../answers.ts").ConnectionEntry} ConnectionEntry
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 * @typedef {import("../wording/own_limits.js").OwnLimits} OwnLimits
 *
 * @typedef {object} Holder A token, a group or a connection.
 * @property {string} name
 * @property {readonly QuotaWindow[]} limits
 */

/**
 * Returns the most important facts: the limit and the quota with the least left, and the number of unread connections.
 *
 * @param {readonly OwnLimits[]} own
 * @param {readonly ConnectionEntry[] | undefined} entries Undefined while they are unknown.
 * @returns {string}
 */
export function summaryText(own, entries) {
  const parts = [
    ownText(own),
    ...(entries === undefined
      ? ["The quotas are not known yet."]
      : quotaTexts(entries)),
  ];
  return parts.filter((part) => part !== "").join(" ");
}

/** @param {readonly OwnLimits[]} own @returns {string} */
function ownText(own) {
  const least = leastLeft(own);
  if (least === undefined) return "";
  return `Least left of your limits: ${least.text}. ${
    CONSEQUENCES[levelOf(least.window)]
  }`.trim();
}

/** The effect of a limit on requests. */
const CONSEQUENCES = {
  unknown: "",
  plenty: "",
  low: "",
  scarce: "A request that needs more is refused.",
  gone: "Requests are refused until it resets.",
  over: "Requests are refused until it resets.",
};

/** @param {readonly ConnectionEntry[]} entries @returns {readonly string[]} */
function quotaTexts(entries) {
  if (entries.length === 0) {
    return ["No connection is assigned to this token. Ask the administrator."];
  }
  const least = leastLeft(entries);
  return [
    least === undefined ? "" : `Least left of the quotas: ${least.text}.`,
    unreadText(entries),
  ];
}

/**
 * Returns the window with the least left, and its text.
 *
 * @param {readonly Holder[]} holders
 * @returns {{ readonly window: QuotaWindow, readonly text: string } | undefined}
 */
function leastLeft(holders) {
  const [least] = holders
    .flatMap(({ name, limits }) =>
      informativeWindows(limits).map((window) => ({ name, window }))
    )
    .filter(({ window }) => isMeasured(window))
    .sort((one, other) => urgency(other.window) - urgency(one.window));
  if (least === undefined) return undefined;
  const { name, window } = least;
  const of = nameParts(window).join(" ").trim();
  return { window, text: `${name} (${of}), ${leftText(window)}` };
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
