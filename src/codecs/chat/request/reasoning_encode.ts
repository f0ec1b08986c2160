import { type JsonObject, present } from "@gateway/base/json";
import type { FittedReasoning } from "../../canonical/request/fit_reasoning.ts";
import type { ChatDialect } from "../dialect.ts";

/** Encodes fitted reasoning settings in the spelling of the target's provider. */
export function encodeReasoning(
  { mode, effort, budgetTokens }: FittedReasoning,
  { reasoning, thinkingWord, effortWords }: ChatDialect,
): JsonObject {
  if (reasoning === "router") {
    if (mode === "off") return { reasoning: { enabled: false } };
    if (budgetTokens !== undefined) {
      return { reasoning: { max_tokens: budgetTokens } };
    }
    if (effort !== undefined) return { reasoning: { effort } };
    return mode === undefined ? {} : { reasoning: { enabled: true } };
  }
  const type = mode === "off"
    ? "disabled"
    : mode === "between_tools"
    ? mode
    : thinkingWord;
  return present({
    thinking: mode === undefined
      ? undefined
      : present({ type, budget_tokens: budgetTokens }),
    reasoning_effort: effort && (effortWords[effort] ?? effort),
  });
}
