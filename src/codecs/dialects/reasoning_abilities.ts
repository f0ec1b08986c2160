import { ALL_EFFORTS, type EffortWord } from "../canonical/request/effort.ts";
import {
  type Ability,
  type AbilityRow,
  type ReasoningAbility,
  SAMPLING_SETTINGS,
} from "../canonical/request/ability.ts";
import type { OpenAiModelRules } from "./openai_models.ts";

/** Returns the reasoning settings of an OpenAI model in `protocol`, one of the two OpenAI protocols. */
function openAiAbility(
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

/**
 * Returns the reasoning settings that OpenRouter accepts for a model. OpenRouter itself fits the effort to the model.
 *
 * @param mandatory The efforts of a model that always reasons; `undefined` for any other model.
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

/** Returns the row of an OpenAI model for an ability in one of the two OpenAI protocols. */
export function openAiRow(
  rules: OpenAiModelRules,
  { protocol }: Pick<Ability, "protocol">,
): AbilityRow {
  return {
    reasoning: openAiAbility(rules, protocol === "chat" ? "chat" : "responses"),
    sampling: {
      free: "without_reasoning",
      fixed: [...SAMPLING_SETTINGS, "logprobs"],
    },
    // The models that reason reject all stop strings.
    ...(rules.efforts.length > 0 ? { limits: { mostStops: 0 } } : {}),
  };
}

/**
 * Returns the row for the cache settings of the OpenAI protocols. Even a provider that has these settings has them only
 * for some OpenAI models.
 *
 * @param common The ability that the provider's models share.
 * @param rules The rules of an OpenAI model; `undefined` for other models.
 */
export function openAiCacheRow(
  { cacheMarks, settings }: Ability,
  rules: OpenAiModelRules | undefined,
): AbilityRow {
  const hasMarks = rules?.cacheMarks === true;
  return {
    cacheMarks: cacheMarks === "content" && !hasMarks ? "none" : cacheMarks,
    settings: {
      cacheOptions: settings.cacheOptions && hasMarks,
      cacheRetention: settings.cacheRetention &&
        rules?.cacheRetention === true,
    },
  };
}
