import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Effort, ReasoningSettings } from "../request/request.ts";

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

/** Returns the effort of a request, or the closest to its budget; `undefined` when it sets neither. */
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

/**
 * Reads `input_transformations`. There, upstreams list the earlier reasoning that they dropped from a request:
 * `thinking_dropped` in Messages, `removed` in Responses.
 *
 * @returns The upstream's reasons, each once; an empty object when none was dropped.
 */
export function readDroppedReasoning(
  transformations: JsonValue | undefined,
): { readonly reasoningDropped?: readonly string[] } {
  const entries = Array.isArray(transformations) ? transformations : [];
  const reasons = entries.filter(isJsonObject).filter(({ type, action }) =>
    type === "thinking_dropped" || type === "reasoning" && action === "removed"
  ).map(({ reason }) =>
    typeof reason === "string" && WORD_REGEXP.test(reason) ? reason : "other"
  );
  return reasons.length === 0
    ? {}
    : { reasoningDropped: [...new Set(reasons)].slice(0, MAX_REASONS) };
}

/** Returns the reasons of {@linkcode readDroppedReasoning} in an event or an answer, or in its `inner` object. */
export function droppedIn(
  body: JsonObject,
  inner: JsonValue | undefined,
): readonly string[] {
  return [body, inner].filter(isJsonObject).flatMap((holder) =>
    readDroppedReasoning(holder.input_transformations).reasoningDropped ?? []
  );
}

/** The most reasons in the log. No provider has more. */
const MAX_REASONS = 8;

const WORD_REGEXP = /^[a-z_]{1,64}$/;
