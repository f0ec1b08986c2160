import { failureMeaning } from "../wording/failures.js";
import { isUsedUp, levelOf, urgentWindows } from "../wording/level.js";
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
 * Returns the most important facts. These are the used-up limits and quotas with their resets, or else the limit and
 * the quota with the least left. Failing connections and connections without a reading follow.
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
  const [first, second] = urgentWindows(own.flatMap(({ limits }) => limits));
  const text = leastText(own, "your", "limits");
  if (first === undefined) return text;
  if (isUsedUp(first)) {
    const areMore = second !== undefined && isUsedUp(second);
    const reset = areMore ? "they reset" : "it resets";
    return `${text} Requests are refused until ${reset}.`;
  }
  const isScarce = levelOf(first) === "scarce";
  return text + (isScarce ? " A request that needs more is refused." : "");
}

/** The number of used-up windows that the summary names. */
const MOST_NAMED = 3;

/** @param {readonly string[]} texts @returns {string} */
function listText(texts) {
  const more = texts.length - MOST_NAMED;
  return texts.slice(0, MOST_NAMED).join(", ") +
    (more > 0 ? ` and ${more} more` : "");
}

/**
 * Returns the windows with nothing left and their resets. If every window has something left, returns the window with
 * the least left among the windows of known usage.
 *
 * @param {readonly Holder[]} holders
 * @param {string} whose
 * @param {string} what
 * @returns {string}
 */
function leastText(holders, whose, what) {
  /** @type {Map<QuotaWindow, string>} */
  const titles = new Map();
  for (const { name, limits } of holders) {
    for (const one of urgentWindows(limits)) {
      titles.set(one, `${name} (${nameParts(one).join(" ").trim()})`);
    }
  }
  const windows = [...titles.keys()];
  const usedUp = windows.filter(isUsedUp)
    .map((one) => titles.get(one) + untilText([one], Date.now()));
  if (usedUp.length > 0) return `Used-up ${what}: ${listText(usedUp)}.`;
  const least = urgentWindows(windows)
    .find(({ used_percent }) => used_percent !== null);
  return least === undefined
    ? ""
    : `Least left of ${whose} ${what}: ${titles.get(least)}, ${
      leftText(least)
    }.`;
}

/** @param {readonly ConnectionEntry[]} entries @returns {readonly string[]} */
function quotaTexts(entries) {
  if (entries.length === 0) {
    return ["No connection is assigned to this token. Ask the administrator."];
  }
  const failing = entries.filter((one) => one.failing !== undefined);
  return [
    failing.length === 0
      ? ""
      : `Requests fail through ${listText(failing.map(({ name }) => name))}.`,
    leastText(entries, "the", "quotas"),
    unreadText(entries),
  ];
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
