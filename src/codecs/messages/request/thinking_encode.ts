import { type JsonObject, present } from "@gateway/base/json";
import type { FittedReasoning } from "../../canonical/request/fit_reasoning.ts";
import type { ReasoningSettings } from "../../canonical/request/request.ts";

/** Encodes fitted reasoning settings as `thinking`; `undefined` for the model's default. */
export function encodeThinking(
  { mode, budgetTokens }: FittedReasoning,
  settings: ReasoningSettings | undefined,
): JsonObject | undefined {
  switch (mode) {
    case undefined:
      return undefined;
    case "off":
      return { type: "disabled" };
    case "between_tools":
      return { type: "between_tools" };
    default:
      return {
        type: mode === "budget" ? "enabled" : mode,
        ...present({ budget_tokens: budgetTokens }),
        ...display(settings),
      };
  }
}

/**
 * Returns the field that shows or hides thinking. Newer models hide thinking by default. So the field shows thinking
 * when the request sets only an effort.
 */
function display(settings: ReasoningSettings | undefined): JsonObject {
  const word = settings?.summary ??
    (settings?.mode === undefined ? "auto" : undefined);
  if (word === undefined) return {};
  return { display: word === "none" ? "omitted" : "summarized" };
}
