import type { Effort } from "../request/request.ts";

/** Least thinking budget that Messages upstreams take, in tokens. */
export const MIN_BUDGET_TOKENS = 1024;

/** Share of the output limit that an effort may spend on thinking. */
const SHARE_BY_EFFORT: Readonly<Record<Effort, number>> = {
  minimal: 0.1,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
  max: 0.9,
};

/** The thinking budget in tokens that comes closest to `effort` under a limit of `maxOutputTokens`. */
export function budgetOfEffort(
  effort: Effort,
  maxOutputTokens: number,
): number {
  const budget = Math.floor(maxOutputTokens * SHARE_BY_EFFORT[effort]);
  return Math.max(MIN_BUDGET_TOKENS, budget);
}

/** The effort that comes closest to a thinking budget in tokens. */
export function effortOfBudget(budgetTokens: number): Effort {
  if (budgetTokens <= 4_096) return "low";
  if (budgetTokens <= 16_384) return "medium";
  return budgetTokens <= 32_768 ? "high" : "xhigh";
}

const EFFORTS: readonly string[] = Object.keys(SHARE_BY_EFFORT);

/** Whether `word` is an effort. */
export function isEffort(word: unknown): word is Effort {
  return typeof word === "string" && EFFORTS.includes(word);
}
