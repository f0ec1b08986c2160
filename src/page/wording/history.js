/**
 * The usage of the last days, for the page and the command line. Pure functions.
 *
 * @typedef {"tokens" | "requests" | "USD"} Unit
 *
 * @typedef {object} Day
 * @property {string} date ISO 8601, UTC.
 * @property {number} requests
 * @property {number} input_tokens
 * @property {number} cached_input_tokens
 * @property {number} cache_write_tokens
 * @property {number} output_tokens
 * @property {number | null} cost_usd Null when no request had a price.
 * @property {number | undefined} [unpriced_requests] The requests that the cost leaves out.
 *
 * @typedef {object} HolderHistory
 * @property {string} name `You` or `Group interns`.
 * @property {readonly Day[]} days The oldest first; today is the last.
 * @property {Readonly<Partial<Record<Unit, number>>>} limits The smallest daily limit in each unit.
 *
 * @typedef {{ readonly model: string } & Pick<Day, "requests" | "input_tokens" | "output_tokens" | "cost_usd" | "unpriced_requests">} ModelUse
 *
 * @typedef {object} History
 * @property {readonly HolderHistory[]} holders The token, then its groups.
 * @property {readonly ModelUse[]} models The models that the token used most this month, the dearest first.
 * @property {string | undefined} dearTurns The dear turns of this month, in words; undefined when there were none.
 */
import { dearTurnsText, isDearTurns } from "./dear_turns.js";
import { listAt } from "./own_use.js";
import { amountText } from "./words.js";

const MOST_MODELS = 5;
const WEEK_DAYS = 7;
const PACE_DIGITS = 2;
const DAY_MS = 86_400_000;

/**
 * Returns the history in a response of `GET /usage`.
 *
 * @param {unknown} usage
 * @returns {History | undefined} Undefined when the response has no history, as from an older gateway.
 */
export function historyOf(usage) {
  const days = daysIn(usage);
  if (days === undefined) return undefined;
  const limits = listAt(usage, "limits");
  const groups = listAt(usage, "groups").flatMap((group) => {
    const name = String(Reflect.get(group, "name"));
    const found = daysIn(group);
    return found === undefined ? [] : [{
      name: `Group ${name}`,
      days: found,
      limits: dayLimits(limits, name),
    }];
  });
  const own = { name: "You", days, limits: dayLimits(limits, null) };
  const turns = listAt(monthIn(usage), "cache_misses").filter(isDearTurns);
  const dearTurns = dearTurnsText(turns);
  return { holders: [own, ...groups], models: modelsIn(usage), dearTurns };
}

/** @param {unknown} usage @returns {object | undefined} */
function monthIn(usage) {
  return listAt(usage, "windows")
    .find((one) => Reflect.get(one, "window") === "month");
}

/** @param {unknown} holder @returns {readonly Day[] | undefined} */
function daysIn(holder) {
  const days = listAt(holder, "history").filter(isDay);
  return days.length === 0 ? undefined : days;
}

/**
 * Returns the smallest daily limit in each unit. Only limits on all models and connections count.
 *
 * @param {readonly object[]} limits
 * @param {string | null} group
 * @returns {HolderHistory["limits"]}
 */
function dayLimits(limits, group) {
  const at = (/** @type {object} */ limit, /** @type {string} */ name) =>
    Reflect.get(limit, name);
  return Object.fromEntries(
    limits.filter((limit) =>
      at(limit, "window") === "day" && at(limit, "group") === group &&
      at(limit, "models") === null && at(limit, "connections") === null &&
      typeof at(limit, "limit") === "number"
    ).map((limit) => [at(limit, "unit"), at(limit, "limit")])
      .sort(([, one], [, other]) => other - one),
  );
}

/** @param {unknown} usage @returns {readonly ModelUse[]} */
function modelsIn(usage) {
  /** @type {Map<string, ModelUse>} */
  const byModel = new Map();
  for (const row of listAt(monthIn(usage), "data").filter(isModelUse)) {
    const { model } = row;
    const known = byModel.get(model);
    byModel.set(
      model,
      known === undefined ? { ...row } : {
        model,
        requests: known.requests + row.requests,
        input_tokens: known.input_tokens + row.input_tokens,
        output_tokens: known.output_tokens + row.output_tokens,
        cost_usd: known.cost_usd === null && row.cost_usd === null
          ? null
          : (known.cost_usd ?? 0) + (row.cost_usd ?? 0),
        unpriced_requests: (known.unpriced_requests ?? 0) +
          (row.unpriced_requests ?? 0),
      },
    );
  }
  return [...byModel.values()].sort((one, other) =>
    (other.cost_usd ?? 0) - (one.cost_usd ?? 0) ||
    amountOf(other, "tokens") - amountOf(one, "tokens")
  ).slice(0, MOST_MODELS);
}

/**
 * Returns the amount of a day or a model; 0 if unknown.
 *
 * @param {Pick<Day, "requests" | "input_tokens" | "output_tokens" | "cost_usd">} use
 * @param {Unit} unit
 * @returns {number}
 */
export function amountOf(use, unit) {
  if (unit === "requests") return use.requests;
  return unit === "USD"
    ? use.cost_usd ?? 0
    : use.input_tokens + use.output_tokens;
}

/**
 * Returns a mark for a cost that does not include requests without a price. Returns an empty text for any other cost.
 *
 * @param {Pick<Day, "cost_usd" | "unpriced_requests">} use
 * @returns {string}
 */
export function costMark({ cost_usd, unpriced_requests = 0 }) {
  return cost_usd !== null && unpriced_requests > 0 ? "+" : "";
}

/**
 * Returns the unit to show first: cost if there is any, else requests if only requests are limited, else tokens.
 *
 * @param {readonly HolderHistory[]} holders
 * @returns {Unit}
 */
export function unitOf(holders) {
  if (holders.some(hasCost)) return "USD";
  const isLimited = (/** @type {Unit} */ unit) =>
    holders.some(({ limits }) => limits[unit] !== undefined);
  return isLimited("requests") && !isLimited("tokens") ? "requests" : "tokens";
}

/**
 * Returns the amount that is expected by the end of today, at today's pace.
 *
 * @param {readonly Day[]} days
 * @param {Unit} unit
 * @param {number} nowMs
 * @returns {number | undefined} Undefined in the first hour of a day, and when the last day is not today.
 */
export function expectedToday(days, unit, nowMs) {
  const today = days.at(-1);
  const elapsed = nowMs - Date.parse(today?.date ?? "");
  const isKnown = today !== undefined && elapsed >= DAY_MS / 24 &&
    elapsed < DAY_MS;
  return isKnown ? amountOf(today, unit) * DAY_MS / elapsed : undefined;
}

/** @param {Pick<HolderHistory, "days">} holder @returns {boolean} True when some day has a cost. */
export function hasCost({ days }) {
  return days.some(({ cost_usd }) => cost_usd);
}

/** @param {Pick<HolderHistory, "days">} holder @returns {boolean} True when no day has a request. */
export function isEmpty({ days }) {
  return days.every(({ requests }) => requests === 0);
}

/**
 * Sums a history up in sentences.
 *
 * @param {HolderHistory} holder
 * @param {Unit} unit
 * @param {number} nowMs
 * @returns {string}
 */
export function historyText({ days, limits }, unit, nowMs) {
  if (isEmpty({ days })) {
    return `No requests were counted in the last ${days.length} days.`;
  }
  const total = (/** @type {readonly Day[]} */ some) =>
    amountText(some.reduce((sum, day) => sum + amountOf(day, unit), 0), unit);
  const used = days.slice(days.findIndex(({ requests }) => requests > 0));
  const week = used.length > WEEK_DAYS
    ? `, ${total(used.slice(-WEEK_DAYS))} in the last ${WEEK_DAYS} days`
    : "";
  const expected = expectedToday(days, unit, nowMs);
  const pace = expected === undefined
    ? ""
    : `, at this pace about ${
      amountText(Number(expected.toPrecision(PACE_DIGITS)), unit)
    } by midnight UTC`;
  const limit = limits[unit];
  const today = days.at(-1);
  const unpriced = unit === "USD"
    ? used.reduce((sum, day) => sum + (day.unpriced_requests ?? 0), 0)
    : 0;
  return [
    ...(used.length === 1
      ? []
      : [`${total(used)} since ${used[0]?.date}${week}.`]),
    today?.requests === 0
      ? "No requests today."
      : unit === "USD" && today?.cost_usd === null
      ? "No priced usage today."
      : `Today ${total(days.slice(-1))}${pace}.`,
    ...(limit === undefined
      ? []
      : [`The limit is ${amountText(limit, unit)} a day.`]),
    ...(unpriced === 0 ? [] : [
      `The cost leaves out ${unpriced} ${
        unpriced === 1 ? "request" : "requests"
      } to models without a price.`,
    ]),
  ].join(" ");
}

/** @param {object} value @returns {value is Day} */
function isDay(value) {
  return typeof Reflect.get(value, "date") === "string" && isCounted(value) &&
    ["cached_input_tokens", "cache_write_tokens"].every((name) =>
      typeof Reflect.get(value, name) === "number"
    );
}

/** @param {object} value @returns {value is ModelUse} */
function isModelUse(value) {
  return typeof Reflect.get(value, "model") === "string" && isCounted(value);
}

/** @param {object} value @returns {boolean} */
function isCounted(value) {
  const cost = Reflect.get(value, "cost_usd");
  return (cost === null || typeof cost === "number") &&
    ["requests", "input_tokens", "output_tokens"].every((name) =>
      typeof Reflect.get(value, name) === "number"
    );
}
