import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import { isEffort } from "../../canonical/answer/reasoning.ts";
import type { ReasoningSettings } from "../../canonical/request/request.ts";

/**
 * Reads how much a caller wants the model to reason, and what to read of it: `reasoning_effort`, and what providers
 * and clients have beside it. `thinking` is DeepSeek's, Kimi's and Z.ai's, with a budget LiteLLM's; `reasoning` and
 * `include_reasoning` are OpenRouter's; LiteLLM takes an object for the effort.
 */
export function decodeReasoning(
  body: JsonObject,
): ReasoningSettings | undefined {
  const amount = decodeAmount(body);
  const summary = decodeSummary(body);
  if (summary === undefined) return amount;
  return { ...amount, summary };
}

function decodeAmount(body: JsonObject): ReasoningSettings | undefined {
  const { type: thinking, budget_tokens } = objectIn(body.thinking);
  const router = objectIn(body.reasoning);
  const word = effortWord(body) ?? router.effort;
  if (word === "none" || thinking === "disabled" || router.enabled === false) {
    return { mode: "off" };
  }
  const effort = isEffort(word) ? word : undefined;
  const budgetTokens = router.max_tokens ?? budget_tokens;
  if (typeof budgetTokens === "number") {
    return {
      mode: "budget",
      budgetTokens,
      ...(effort === undefined ? {} : { effort }),
    };
  }
  const isOn = ON_WORDS.includes(thinking) || router.enabled === true;
  if (effort === undefined) return isOn ? { mode: "adaptive" } : undefined;
  return isOn ? { mode: "adaptive", effort } : { effort };
}

/** The values of `thinking.type` that switch it on. */
const ON_WORDS: readonly unknown[] = ["enabled", "adaptive"];

function effortWord({ reasoning_effort }: JsonObject): JsonValue | undefined {
  return isJsonObject(reasoning_effort)
    ? reasoning_effort.effort
    : reasoning_effort ?? undefined;
}

/** What the caller asks to read; only what it asks for by name, since some providers show summaries to few. */
function decodeSummary(body: JsonObject): ReasoningSettings["summary"] {
  const router = objectIn(body.reasoning);
  const words = [
    router.summary,
    objectIn(body.reasoning_effort).summary,
    body.reasoning_summary,
  ];
  const word = words.find((one) => SUMMARIES.has(one));
  if (word !== undefined) return SUMMARIES.get(word);
  const isShown = body.include_reasoning === true || router.exclude === false;
  if (isShown) return "auto";
  const isHidden = body.include_reasoning === false || router.exclude === true;
  return isHidden ? "none" : undefined;
}

const SUMMARIES: ReadonlyMap<unknown, ReasoningSettings["summary"]> = new Map([
  ["auto", "auto"],
  ["concise", "concise"],
  ["detailed", "detailed"],
]);

/** Whether a field is read here, and only kept for providers that want the same spelling again. */
export function isReasoningSwitch(field: string, value: JsonValue): boolean {
  switch (field) {
    case "reasoning_effort":
      return isJsonObject(value) || value === "none" || isEffort(value);
    case "reasoning_summary":
      return SUMMARIES.has(value);
    default:
      return ["thinking", "reasoning", "include_reasoning"].includes(field);
  }
}

function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
