import type { JsonObject } from "@gateway/base/json";
import { effortOf } from "../../canonical/answer/reasoning.ts";
import type {
  Effort,
  ReasoningSettings,
} from "../../canonical/request/request.ts";
import {
  closestEffort,
  type EffortRules,
  type EffortWord,
  knownEfforts,
} from "../../dialects/effort.ts";
import type { OpenAiModelRules } from "../../dialects/openai_models.ts";
import type { ThinkingRules } from "../../dialects/thinking_models.ts";
import type { Scope } from "../dialect.ts";

/** The encoded reasoning settings of a request. */
export interface Reasoning {
  readonly fields: JsonObject;
  /** True when the model reasons in this request, or `undefined` when that is unknown. */
  readonly isOn: boolean | undefined;
}

interface ReasoningOptions {
  readonly settings: ReasoningSettings | undefined;
  /** True when the model must call a tool. Some models do so only without thinking. */
  readonly isForced: boolean;
  /** True when the request offers tools. */
  readonly hasTools: boolean;
}

/** The efforts that nearly all providers support. */
const COMMON_EFFORTS: readonly Effort[] = ["low", "medium", "high"];

/** The effort of a request that asks for reasoning without an amount. */
const DEFAULT_EFFORT: Effort = "medium";

/** Encodes the reasoning settings in the spelling of the target's provider. Unsupported settings are reported. */
export function encodeReasoning(
  options: ReasoningOptions,
  scope: Scope,
): Reasoning {
  const { settings } = options;
  const { reasoning, thinking, openAi, effort } = scope.dialect;
  if (thinking !== undefined) return encodeSwitch(options, thinking, scope);
  if (openAi !== undefined) return encodeOpenAi(options, openAi, scope);
  if (settings === undefined) return { fields: {}, isOn: undefined };
  if (effort !== undefined) return encodeWord(settings, effort, scope);
  return {
    fields: reasoning === "router"
      ? encodeRouter(settings, scope)
      : encodeEffort(settings, scope),
    isOn: settings.mode === "off" ? false : undefined,
  };
}

/** Returns `reasoning_effort`. Without an effort, the model's default is the closest to adaptive thinking. */
function encodeEffort(settings: ReasoningSettings, scope: Scope): JsonObject {
  if (settings.mode === "off") return encodeOff(scope);
  const effort = effortOf(settings);
  return effort === undefined
    ? {}
    : { reasoning_effort: knownEffort(effort, scope) };
}

/** Returns `reasoning_effort` for a model that accepts only some words. */
function encodeWord(
  settings: ReasoningSettings,
  rules: EffortRules,
  scope: Scope,
): Reasoning {
  const { words } = rules;
  const requested = settings.mode === "off" ? "none" : effortOf(settings);
  const known = knownEfforts(rules);
  if (requested === undefined && known.length > 0) {
    return { fields: {}, isOn: undefined };
  }
  const [least] = known;
  if (least === undefined) {
    if (requested !== "none") {
      reportDropped("this model's reasoning cannot be changed", scope);
    }
    return { fields: {}, isOn: undefined };
  }
  const chosen = requested === undefined || requested === "none"
    ? least
    : closestEffort(requested, known) ?? least;
  if (words[chosen] !== requested) {
    reportDropped("this model does not support this effort", scope);
  }
  return {
    fields: { reasoning_effort: words[chosen] },
    isOn: chosen !== "none",
  };
}

/** Switches reasoning off where the provider fits that to the model. Elsewhere the word may be an error. */
function encodeOff(scope: Scope): JsonObject {
  if (scope.dialect.fitsModel) return { reasoning_effort: "none" };
  reportDropped(
    "this model's provider may not allow reasoning to be switched off",
    scope,
  );
  return scope.dialect.openaiSettings ? { reasoning_effort: "low" } : {};
}

function knownEffort(effort: Effort, scope: Scope): Effort {
  if (scope.dialect.maxEffort === "max") return effort;
  const known = closestEffort(effort, COMMON_EFFORTS) ?? effort;
  if (known !== effort) {
    reportDropped("this model's provider does not support this effort", scope);
  }
  return known;
}

/** Returns `reasoning_effort` for an OpenAI model. */
function encodeOpenAi(
  { settings, hasTools }: ReasoningOptions,
  { defaultEffort, refusesChatTools, ...rules }: OpenAiModelRules,
  scope: Scope,
): Reasoning {
  // "accepts `max` only on the Responses API": https://github.com/BerriAI/litellm-docs/pull/1173. The supported values
  // in Chat Completions: https://github.com/mnfst/modelparams.dev/pull/236
  const efforts: readonly EffortWord[] = rules.efforts.filter((word) =>
    word !== "max"
  );
  const requested = requestedEffort(settings, defaultEffort);
  const isDefaultOn = defaultEffort !== "none";
  if (hasTools && refusesChatTools && (requested ?? defaultEffort) !== "none") {
    if (requested !== undefined) reportDropped(NO_REASONING_WITH_TOOLS, scope);
    return efforts.includes("none")
      ? { fields: { reasoning_effort: "none" }, isOn: false }
      : { fields: {}, isOn: true };
  }
  if (requested === undefined) return { fields: {}, isOn: isDefaultOn };
  if (efforts.includes(requested)) {
    return {
      fields: { reasoning_effort: requested },
      isOn: requested !== "none",
    };
  }
  const chosen = requested === "none"
    ? efforts[0]
    : closestEffort(requested, efforts);
  if (chosen === undefined) {
    if (requested !== "none") {
      reportDropped("this model does not reason", scope);
    }
    return { fields: {}, isOn: isDefaultOn };
  }
  reportDropped("this model does not support this effort", scope);
  return { fields: { reasoning_effort: chosen }, isOn: true };
}

const NO_REASONING_WITH_TOOLS =
  "this model accepts no tools while it reasons, except in the Responses protocol";

function requestedEffort(
  settings: ReasoningSettings | undefined,
  defaultEffort: EffortWord,
): EffortWord | undefined {
  if (settings === undefined) return undefined;
  if (settings.mode === "off") return "none";
  const effort = effortOf(settings);
  if (effort !== undefined || settings.mode === undefined) return effort;
  return defaultEffort === "none" ? DEFAULT_EFFORT : undefined;
}

/** Returns the provider's switch for thinking, with an effort when the model accepts one. */
function encodeSwitch(
  { settings, isForced }: ReasoningOptions,
  rules: ThinkingRules,
  scope: Scope,
): Reasoning {
  const requested = requestedThinking(settings);
  const wanted = requested ?? rules.byDefault;
  if (wanted && isForced && rules.forcedTools === "without_thinking") {
    reportDropped("this model does not think when it must call a tool", scope);
    return encodeStop(rules, scope);
  }
  if (requested === false) return encodeStop(rules, scope);
  if (requested === undefined) return { fields: {}, isOn: rules.byDefault };
  return encodeOn(settings, rules, scope);
}

function requestedThinking(
  settings: ReasoningSettings | undefined,
): boolean | undefined {
  if (settings === undefined) return undefined;
  if (settings.mode !== undefined) return settings.mode !== "off";
  return settings.effort === undefined ? undefined : true;
}

/** Switches thinking off, or to the lowest effort of the model. */
function encodeStop(rules: ThinkingRules, scope: Scope): Reasoning {
  if (!rules.byDefault && rules.onWord === undefined) {
    return { fields: {}, isOn: false };
  }
  if (rules.canStop) {
    return { fields: { thinking: { type: "disabled" } }, isOn: false };
  }
  reportDropped("this model always thinks", scope);
  const [least] = rules.efforts;
  return {
    fields: least === undefined ? {} : { reasoning_effort: least },
    isOn: true,
  };
}

function encodeOn(
  settings: ReasoningSettings | undefined,
  rules: ThinkingRules,
  scope: Scope,
): Reasoning {
  const canThink = rules.byDefault || rules.onWord !== undefined;
  const effort = settings === undefined ? undefined : effortOf(settings);
  if (!canThink) reportDropped("this model does not think", scope);
  const chosen = effort === undefined || !canThink
    ? undefined
    : closestEffort(effort, rules.efforts);
  if (effort !== undefined && canThink && chosen !== effort) {
    reportDropped(
      chosen === undefined
        ? "this model's thinking can only be switched on or off"
        : "this model does not support this effort",
      scope,
    );
  }
  return {
    fields: {
      ...(rules.onWord === undefined
        ? {}
        : { thinking: { type: rules.onWord } }),
      ...(chosen === undefined ? {} : { reasoning_effort: chosen }),
    },
    isOn: canThink,
  };
}

/** Returns OpenRouter's `reasoning`. */
function encodeRouter(settings: ReasoningSettings, scope: Scope): JsonObject {
  if (settings.mode === "off") {
    const { mandatory } = scope.dialect;
    if (mandatory === undefined) return { reasoning: { enabled: false } };
    reportDropped("this model always reasons", scope);
    const [effort] = mandatory;
    return effort === undefined ? {} : { reasoning: { effort } };
  }
  if (settings.budgetTokens !== undefined) {
    return { reasoning: { max_tokens: settings.budgetTokens } };
  }
  const { effort } = settings;
  return { reasoning: effort === undefined ? { enabled: true } : { effort } };
}

function reportDropped(reason: string, { context }: Scope): void {
  context.reportDropped("reasoning", reason);
}
