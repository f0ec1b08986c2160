import type { Effort, ReasoningSettings } from "./request.ts";

/** An effort, or `none` for no reasoning. */
export type EffortWord = Effort | "none";

/** All efforts, from low to high. */
export const ALL_EFFORTS: readonly Effort[] = [
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

/** All effort words, from low to high. */
export const EFFORT_WORDS: readonly EffortWord[] = ["none", ...ALL_EFFORTS];

/** The substitutes for an effort that a model does not know, closest first. */
const SUBSTITUTES: Readonly<Record<Effort, readonly Effort[]>> = {
  minimal: ["low", "medium", "high"],
  low: ["minimal", "medium", "high"],
  medium: ["high", "low"],
  high: ["medium", "max", "low"],
  xhigh: ["high", "max", "medium"],
  max: ["xhigh", "high", "medium"],
};

/** Returns the effort in `known` that is closest to `effort`; `undefined` when `known` has no close effort. */
export function closestEffort(
  effort: Effort,
  known: readonly EffortWord[],
): Effort | undefined {
  return [effort, ...SUBSTITUTES[effort]].find((word) => known.includes(word));
}

/** The smallest thinking budget that Messages upstreams accept, in tokens. */
export const MIN_BUDGET_TOKENS = 1024;

/** The share of the output limit that an effort may spend on thinking. */
const SHARE_BY_EFFORT: Readonly<Record<Effort, number>> = {
  minimal: 0.1,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
  max: 0.9,
};

/** Returns the thinking budget, in tokens, that is closest to `effort` with an output limit of `maxOutputTokens`. */
export function budgetOfEffort(
  effort: Effort,
  maxOutputTokens: number,
): number {
  const budget = Math.floor(maxOutputTokens * SHARE_BY_EFFORT[effort]);
  return Math.max(MIN_BUDGET_TOKENS, budget);
}

/** Returns the effort that is closest to a thinking budget in tokens. */
function effortOfBudget(budgetTokens: number): Effort {
  if (budgetTokens <= 4_096) return "low";
  if (budgetTokens <= 16_384) return "medium";
  return budgetTokens <= 32_768 ? "high" : "xhigh";
}

/** Returns a request's effort, or the effort closest to the request's budget; `undefined` when both are absent. */
export function effortOf(
  { effort, budgetTokens }: ReasoningSettings,
): Effort | undefined {
  return effort ??
    (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens));
}

const EFFORTS: readonly string[] = Object.keys(SHARE_BY_EFFORT);

/** Returns true when `word` is an effort. */
export function isEffort(word: unknown): word is Effort {
  return typeof word === "string" && EFFORTS.includes(word);
}
