import type { JsonObject } from "../../core/json.ts";
import { effortOfBudget } from "../canonical/reasoning.ts";
import type { Effort, ReasoningSettings } from "../canonical/request.ts";
import type { Scope } from "./dialect.ts";

/** Writes how much to think, in the spelling of the target's provider. */
export function encodeReasoning(
  settings: ReasoningSettings | undefined,
  scope: Scope,
): JsonObject {
  if (settings === undefined) return {};
  switch (scope.dialect.reasoning) {
    case "effort":
      return encodeEffort(settings, scope);
    case "thinking":
      return encodeSwitch(settings);
    case "router":
      return encodeRouter(settings);
  }
}

/** `reasoning_effort`. Without an effort the model's own default is nearest to "as it sees fit". */
function encodeEffort(settings: ReasoningSettings, scope: Scope): JsonObject {
  if (settings.mode === "off") return encodeOff(scope);
  const effort = effortOf(settings);
  return effort === undefined
    ? {}
    : { reasoning_effort: knownEffort(effort, scope) };
}

/** OpenAI has a word for it; elsewhere the word is an error or means something else. */
function encodeOff({ dialect, context }: Scope): JsonObject {
  if (dialect.openaiSettings) return { reasoning_effort: "none" };
  context.lose({
    field: "reasoning",
    weight: "hint",
    reason:
      "this model's provider is not known to let reasoning be switched off",
  });
  return {};
}

function knownEffort(effort: Effort, { dialect, context }: Scope): Effort {
  if (dialect.maxEffort === "max") return effort;
  if (effort === "minimal") return "low";
  if (effort !== "xhigh" && effort !== "max") return effort;
  context.lose({
    field: "reasoning",
    weight: "hint",
    reason: "this model's provider knows no effort above high",
  });
  return "high";
}

function encodeSwitch({ mode }: ReasoningSettings): JsonObject {
  return { thinking: { type: mode === "off" ? "disabled" : "enabled" } };
}

/** OpenRouter's `reasoning`. */
function encodeRouter(settings: ReasoningSettings): JsonObject {
  if (settings.mode === "off") return { reasoning: { enabled: false } };
  if (settings.budgetTokens !== undefined) {
    return { reasoning: { max_tokens: settings.budgetTokens } };
  }
  const { effort } = settings;
  return { reasoning: effort === undefined ? { enabled: true } : { effort } };
}

function effortOf(
  { effort, budgetTokens }: ReasoningSettings,
): Effort | undefined {
  if (effort !== undefined) return effort;
  return budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens);
}
