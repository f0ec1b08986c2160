import { ALL_EFFORTS, type EffortWord } from "../canonical/request/effort.ts";
import type { ReasoningAbility } from "../canonical/request/ability.ts";
import { type EffortRules, knownEfforts } from "./effort.ts";
import type { OpenAiModelRules } from "./openai_models.ts";
import type { ThinkingRules } from "./thinking_models.ts";

/** Returns the reasoning settings of a model with a switch for thinking. */
export function switchAbility(rules: ThinkingRules): ReasoningAbility {
  const { byDefault, canStop, onWord, efforts, forcedTools } = rules;
  const canThink = byDefault || onWord !== undefined;
  return {
    byDefault,
    modes: [
      ...(onWord === undefined ? [] : ["adaptive" as const]),
      ...(canThink && canStop ? ["off" as const] : []),
    ],
    efforts: canThink ? efforts : [],
    least: efforts[0],
    bars: forcedTools === "without_thinking" ? ["forced_call"] : [],
  };
}

/** Returns the reasoning settings of an OpenAI model, in one of OpenAI's protocols. */
export function openAiAbility(
  { efforts, defaultEffort, refusesChatTools }: OpenAiModelRules,
  protocol: "chat" | "responses",
): ReasoningAbility {
  // "accepts `max` only on the Responses API": https://github.com/BerriAI/litellm-docs/pull/1173. The supported values
  // in Chat Completions: https://github.com/mnfst/modelparams.dev/pull/236
  const isChat = protocol === "chat";
  const isUnknown = efforts.length === 0 && defaultEffort !== "none";
  return {
    byDefault: isUnknown ? undefined : defaultEffort !== "none",
    modes: [],
    efforts: isChat ? efforts.filter((word) => word !== "max") : efforts,
    least: efforts[0],
    usual: isUnknown || defaultEffort === "none" ? undefined : defaultEffort,
    bars: isChat && refusesChatTools ? ["tools"] : [],
  };
}

/** Returns the reasoning settings of a model that accepts only some efforts. */
export function effortAbility(rules: EffortRules): ReasoningAbility {
  const efforts = knownEfforts(rules);
  const alwaysReasons = efforts.length > 0 && !efforts.includes("none");
  return {
    byDefault: alwaysReasons || undefined,
    modes: [],
    efforts,
    least: efforts[0],
  };
}

/**
 * Returns the reasoning settings that OpenRouter takes for a model. OpenRouter itself fits efforts to the model.
 *
 * @param mandatory The efforts of a model that always reasons.
 */
export function routerAbility(
  mandatory: readonly EffortWord[] | undefined,
): ReasoningAbility {
  return {
    byDefault: mandatory === undefined ? undefined : true,
    modes: [
      "adaptive",
      "budget",
      ...(mandatory === undefined ? ["off" as const] : []),
    ],
    efforts: ALL_EFFORTS,
    least: mandatory?.[0],
  };
}
