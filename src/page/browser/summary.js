import { failureMeaning } from "../wording/failures.js";
import {
  informativeWindows,
  levelOf,
  urgencyOf,
  usedUpWindows,
} from "../wording/level.js";
import { untilText } from "../wording/times.js";
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
 * Returns the most important facts: the used-up limits and quotas with their resets, or those with the least left, and
 * the failing and the unread connections.
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
  const usedUp = usedUpTexts(own);
  if (usedUp.length > 0) {
    const reset = usedUp.length === 1 ? "it resets" : "they reset";
    return `Used-up limits: ${
      listText(usedUp)
    }. Requests are refused until ${reset}.`;
  }
  const least = leastLeft(own);
  if (least === undefined) return "";
  const isScarce = levelOf(least.window) === "scarce";
  return `Least left of your limits: ${least.text}.${
    isScarce ? " A request that needs more is refused." : ""
  }`;
}

/** The number of used-up windows that the summary names. */
const MOST_NAMED = 3;

/** @param {readonly string[]} texts @returns {string} */
function listText(texts) {
  const more = texts.length - MOST_NAMED;
  return texts.slice(0, MOST_NAMED).join(", ") +
    (more > 0 ? ` and ${more} more` : "");
}

/** @param {readonly Holder[]} holders @returns {readonly string[]} */
function usedUpTexts(holders) {
  return holders.flatMap(({ name, limits }) =>
    usedUpWindows(limits).map((window) =>
      `${titleOf(name, window)}${untilText([window], Date.now())}`
    )
  );
}

/** @param {string} name @param {QuotaWindow} window @returns {string} */
function titleOf(name, window) {
  return `${name} (${nameParts(window).join(" ").trim()})`;
}

/** @param {readonly ConnectionEntry[]} entries @returns {readonly string[]} */
function quotaTexts(entries) {
  if (entries.length === 0) {
    return ["No connection is assigned to this token. Ask the administrator."];
  }
  const usedUp = usedUpTexts(entries);
  const least = leastLeft(entries);
  const failing = entries.filter((one) => one.failing !== undefined);
  return [
    failing.length === 0
      ? ""
      : `Requests fail through ${listText(failing.map(({ name }) => name))}.`,
    usedUp.length > 0
      ? `Used-up quotas: ${listText(usedUp)}.`
      : least === undefined
      ? ""
      : `Least left of the quotas: ${least.text}.`,
    unreadText(entries),
  ];
}

/**
 * Returns the window with the least left of those whose usage is known, and its text.
 *
 * @param {readonly Holder[]} holders
 * @returns {{ readonly window: QuotaWindow, readonly text: string } | undefined}
 */
function leastLeft(holders) {
  const [least] = holders
    .flatMap(({ name, limits }) =>
      informativeWindows(limits).map((window) => ({ name, window }))
    )
    .filter(({ window }) => window.used_percent !== null)
    .sort((one, other) => urgencyOf(other.window) - urgencyOf(one.window));
  if (least === undefined) return undefined;
  const { name, window } = least;
  return { window, text: `${titleOf(name, window)}, ${leftText(window)}` };
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
