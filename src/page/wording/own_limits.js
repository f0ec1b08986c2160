/**
 * The limits of a token and of its group, as windows that are drawn like the windows of a quota. Pure functions.
 *
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 *
 * @typedef {QuotaWindow & { readonly counts: string, readonly starts_at: string | null }} LimitWindow A limit. `counts`
 * names the models and connections whose usage counts; empty when all usage counts.
 *
 * @typedef {object} OwnLimits The limits of one holder.
 * @property {string} name `Your token` or `Group interns`.
 * @property {string} note The users who share the limits.
 * @property {readonly LimitWindow[]} limits
 *
 * @typedef {object} Limit The fields of a limit in `GET /usage` that are used here.
 * @property {string} unit
 * @property {string} window
 * @property {readonly string[] | null} models
 * @property {readonly string[] | null} connections
 * @property {number} limit
 * @property {number | null} used
 * @property {number | null} remaining
 * @property {number | null} used_percent
 * @property {unknown} starts_at ISO 8601, or null.
 * @property {string | null} resets_at
 * @property {string | null} group Null for a limit of the token.
 * @property {string} [per] `session` for a limit that each session has for itself.
 * @property {unknown} [session] The id of one session; null for a session without usage.
 */
import { percentText } from "./words.js";

/**
 * Returns the limits of a token, then those of its group.
 *
 * @param {unknown} usage The response of `GET /usage`.
 * @returns {readonly OwnLimits[] | undefined} Undefined when `usage` is no such response.
 */
export function ownLimits(usage) {
  const all = fieldOf(usage, "limits");
  if (!Array.isArray(all) || fieldOf(usage, "object") !== "usage") {
    return undefined;
  }
  const limits = all.filter(isLimit);
  const groups = new Set(limits.map(({ group }) => group));
  // `null` stands for the token itself.
  return [null, ...[...groups].filter((group) => group !== null)]
    .filter((group) => groups.has(group))
    .map((group) => ({
      name: group === null ? "Your token" : `Group ${group}`,
      note: group === null ? "its own limits" : "shared by its members",
      limits: limits.filter((one) => one.group === group).map(windowOf),
    }));
}

/** @param {Limit} limit @returns {LimitWindow} */
function windowOf(limit) {
  const { unit, resets_at, used_percent, used, remaining } = limit;
  const isShare = unit === "share";
  const [window = "", ...types] = limit.window.split(" ").reverse();
  return {
    type: isShare ? types[0] ?? "USAGE_LIMIT" : TYPES.get(unit) ?? unit,
    window: PERIODS.get(window) ?? window,
    unit: isShare ? "fraction" : unit,
    period_unit: null,
    period_count: null,
    limit: limit.limit,
    used,
    remaining,
    used_percent,
    starts_at: typeof limit.starts_at === "string" ? limit.starts_at : null,
    resets_at,
    counts: countsText(limit),
  };
}

const TYPES = new Map([
  ["requests", "REQUESTS_LIMIT"],
  ["tokens", "TOKENS_LIMIT"],
  ["USD", "SPEND_LIMIT"],
]);

/** The period of a quota window for each calendar window. */
const PERIODS = new Map([
  ["hour", "hourly"],
  ["day", "daily"],
  ["week", "weekly"],
  ["month", "monthly"],
]);

/** @param {Limit} limit @returns {string} */
function countsText({ unit, limit, models, connections, per, session }) {
  if (unit === "share") {
    return `your ${percentText(limit * 100)} of ${namesText(connections)}`;
  }
  return [
    ...(per === undefined
      ? []
      : [typeof session === "string" ? `session ${session}` : "each session"]),
    ...(models === null ? [] : [`for ${namesText(models)}`]),
    ...(connections === null ? [] : [`through ${namesText(connections)}`]),
  ].join(", ");
}

/** @param {readonly string[] | null} names @returns {string} */
function namesText(names) {
  const [first = "the connection", ...more] = names ?? [];
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}

/** @param {unknown} value @returns {value is Limit} */
function isLimit(value) {
  const at = (/** @type {string} */ name) => fieldOf(value, name);
  return ["unit", "window"].every((name) => typeof at(name) === "string") &&
    typeof at("limit") === "number" &&
    ["used", "remaining", "used_percent"].every((name) =>
      at(name) === null || typeof at(name) === "number"
    ) &&
    ["group", "resets_at"].every((name) =>
      at(name) === null || typeof at(name) === "string"
    ) &&
    ["models", "connections"].every((name) => isNames(at(name)));
}

/** @param {unknown} value @returns {boolean} */
function isNames(value) {
  return value === null ||
    Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** @param {unknown} holder @param {string} key @returns {unknown} */
function fieldOf(holder, key) {
  return typeof holder === "object" && holder !== null
    ? Reflect.get(holder, key)
    : undefined;
}
