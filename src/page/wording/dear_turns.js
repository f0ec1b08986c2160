/**
 * Sums up turns that read too little from the prompt cache, for the page and the command line. Pure functions.
 *
 * @typedef {object} DearTurns
 * @property {string} cause A word of `cache_miss` in the log.
 * @property {string | null} part The part of the request that was edited, such as `tools`.
 * @property {number} requests
 * @property {number | null} cost_usd The extra cost; null when no model had a price.
 */
import { amountText } from "./words.js";

/** @type {Readonly<Record<string, string>>} */
const CAUSES = {
  idle: "after a pause of over five minutes",
  moved: "because another connection served",
  model: "because the model changed",
  provider: "for a reason that only the provider knows",
};

/** @type {Readonly<Record<string, string>>} */
const PARTS = {
  tools: "the tools changed",
  system: "the system prompt changed",
  instructions: "the system prompt changed",
  messages: "an earlier message changed",
  input: "an earlier message changed",
  translation: "the translation changed",
  dropped_reasoning: "earlier reasoning was left out",
};

/**
 * Returns the number of dear turns, their causes and their extra cost, in words.
 *
 * @param {readonly DearTurns[]} turns
 * @returns {string | undefined} Undefined when there are no dear turns.
 */
export function dearTurnsText(turns) {
  /** @type {Map<string, number>} */
  const byCause = new Map();
  for (const { cause, part, requests } of turns) {
    const words = CAUSES[cause] ??
      `because ${PARTS[part ?? ""] ?? "a setting changed"}`;
    byCause.set(words, (byCause.get(words) ?? 0) + requests);
  }
  const causes = [...byCause].sort(([, one], [, other]) => other - one);
  const all = causes.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return undefined;
  const why = causes.length === 1
    ? `, ${causes[0]?.[0]}`
    : `: ${causes.map(([words, count]) => `${count} ${words}`).join(", ")}`;
  const read = `${all} ${
    all === 1 ? "turn" : "turns"
  } read little or nothing from the prompt cache${why}.`;
  const cost = turns.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0);
  const isPart = turns.some(({ cost_usd }) => cost_usd === null);
  return cost > 0
    ? `${read} Extra cost: ${isPart ? "at least " : ""}${
      amountText(cost, "USD")
    }.`
    : read;
}

/** @param {object} value @returns {value is DearTurns} */
export function isDearTurns(value) {
  const { cause, part, requests, cost_usd } =
    /** @type {Partial<Record<string, unknown>>} */ (value);
  return typeof cause === "string" && typeof requests === "number" &&
    (part === null || typeof part === "string") &&
    (cost_usd === null || typeof cost_usd === "number");
}
