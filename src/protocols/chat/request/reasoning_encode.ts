import type { JsonObject } from "../../../core/json.ts";
import { effortOfBudget } from "../../canonical/answer/reasoning.ts";
import type {
  Effort,
  ReasoningSettings,
} from "../../canonical/request/request.ts";
import {
  ALL_EFFORTS,
  closestEffort,
  type EffortRules,
  type EffortWord,
} from "../../dialects/effort.ts";
import type { OpenAiModelRules } from "../../dialects/openai_models.ts";
import type { ThinkingRules } from "../../dialects/thinking_models.ts";
import type { Scope } from "../dialect.ts";

/** How a request's reasoning is written. */
export interface Reasoning {
  readonly fields: JsonObject;
  /** Whether the model reasons in this request; `undefined` where that is not known. */
  readonly isOn: boolean | undefined;
}

/** What reasoning depends on beside the caller's settings. */
export interface ReasoningOptions {
  readonly settings: ReasoningSettings | undefined;
  /** Whether the model must call a tool, which some do only without thinking. */
  readonly isForced: boolean;
  /** Whether the request offers tools. */
  readonly hasTools: boolean;
}

/** From little to much. */
const EFFORT_WORDS: readonly EffortWord[] = ["none", ...ALL_EFFORTS];

/** Used where a caller asks for reasoning and says nothing of how much. */
const DEFAULT_EFFORT: Effort = "medium";

/** Writes whether and how much to think, in the spelling of the target's provider; the rest is reported. */
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
      ? encodeRouter(settings)
      : encodeEffort(settings, scope),
    isOn: settings.mode === "off" ? false : undefined,
  };
}

/** `reasoning_effort`. Without an effort the model's own default is nearest to "as it sees fit". */
function encodeEffort(settings: ReasoningSettings, scope: Scope): JsonObject {
  if (settings.mode === "off") return encodeOff(scope);
  const effort = effortOf(settings);
  return effort === undefined
    ? {}
    : { reasoning_effort: knownEffort(effort, scope) };
}

/** `reasoning_effort` in the words of a model that takes some only. */
function encodeWord(
  settings: ReasoningSettings,
  { words }: EffortRules,
  scope: Scope,
): Reasoning {
  const asked = settings.mode === "off" ? "none" : effortOf(settings);
  const known = EFFORT_WORDS.filter((word) => words[word] !== undefined);
  if (asked === undefined && known.length > 0) {
    return { fields: {}, isOn: undefined };
  }
  const [least] = known;
  if (least === undefined) {
    if (asked !== "none") {
      reportDropped("this model's reasoning cannot be set", scope);
    }
    return { fields: {}, isOn: undefined };
  }
  const made = asked === undefined || asked === "none"
    ? least
    : closestEffort(asked, known) ?? least;
  if (words[made] !== asked && asked !== "minimal") {
    reportDropped("this model knows no such effort", scope);
  }
  return {
    fields: { reasoning_effort: words[made] },
    isOn: made !== "none",
  };
}

/** OpenAI has a word for it; elsewhere the word is an error or means something else. */
function encodeOff(scope: Scope): JsonObject {
  if (scope.dialect.openaiSettings) return { reasoning_effort: "none" };
  reportDropped(
    "this model's provider is not known to let reasoning be switched off",
    scope,
  );
  return {};
}

function knownEffort(effort: Effort, scope: Scope): Effort {
  if (scope.dialect.maxEffort === "max") return effort;
  if (effort === "minimal") return "low";
  if (effort !== "xhigh" && effort !== "max") return effort;
  reportDropped("this model's provider knows no effort above high", scope);
  return "high";
}

/** `reasoning_effort` in the words of a model of OpenAI's. */
function encodeOpenAi(
  { settings, hasTools }: ReasoningOptions,
  { efforts, defaultEffort, refusesChatTools }: OpenAiModelRules,
  scope: Scope,
): Reasoning {
  const asked = askedOfOpenAi(settings, defaultEffort);
  const isDefaultOn = defaultEffort !== "none";
  if (hasTools && refusesChatTools && (asked ?? defaultEffort) !== "none") {
    if (asked !== undefined) reportDropped(NO_REASONING_WITH_TOOLS, scope);
    return { fields: { reasoning_effort: "none" }, isOn: false };
  }
  if (asked === undefined) return { fields: {}, isOn: isDefaultOn };
  if (efforts === undefined || efforts.includes(asked)) {
    return { fields: { reasoning_effort: asked }, isOn: asked !== "none" };
  }
  const made = asked === "none" ? efforts[0] : closestEffort(asked, efforts);
  if (made === undefined) {
    if (asked !== "none") reportDropped("this model does not reason", scope);
    return { fields: {}, isOn: false };
  }
  if (asked !== "minimal") {
    reportDropped("this model knows no such effort", scope);
  }
  return { fields: { reasoning_effort: made }, isOn: true };
}

const NO_REASONING_WITH_TOOLS =
  "this model takes no tools while it reasons, except through the Responses protocol";

function askedOfOpenAi(
  settings: ReasoningSettings | undefined,
  defaultEffort: EffortWord,
): EffortWord | undefined {
  if (settings === undefined) return undefined;
  if (settings.mode === "off") return "none";
  const effort = effortOf(settings);
  if (effort !== undefined || settings.mode === undefined) return effort;
  return defaultEffort === "none" ? DEFAULT_EFFORT : undefined;
}

/** The switch of a provider that has one, and the effort beside it where the model takes one. */
function encodeSwitch(
  { settings, isForced }: ReasoningOptions,
  rules: ThinkingRules,
  scope: Scope,
): Reasoning {
  const asked = askedOfSwitch(settings);
  const wanted = asked ?? rules.byDefault;
  if (wanted && isForced && rules.forcedTools === "without_thinking") {
    reportDropped("this model does not think where it must call a tool", scope);
    return encodeStop(rules, scope);
  }
  if (asked === false) return encodeStop(rules, scope);
  if (asked === undefined) return { fields: {}, isOn: rules.byDefault };
  return encodeOn(settings, rules, scope);
}

function askedOfSwitch(
  settings: ReasoningSettings | undefined,
): boolean | undefined {
  if (settings === undefined) return undefined;
  if (settings.mode !== undefined) return settings.mode !== "off";
  return settings.effort === undefined ? undefined : true;
}

/** No thinking, or as little as the model can. */
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
  const isThinker = rules.byDefault || rules.onWord !== undefined;
  const effort = settings === undefined ? undefined : effortOf(settings);
  if (!isThinker) reportDropped("this model does not think", scope);
  const made = effort === undefined || !isThinker
    ? undefined
    : closestEffort(effort, rules.efforts);
  if (effort !== undefined && isThinker && made !== effort) {
    reportDropped(
      made === undefined
        ? "this model's thinking is only switched on and off"
        : "this model knows no such effort",
      scope,
    );
  }
  return {
    fields: {
      ...(rules.onWord === undefined
        ? {}
        : { thinking: { type: rules.onWord } }),
      ...(made === undefined ? {} : { reasoning_effort: made }),
    },
    isOn: isThinker,
  };
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

function reportDropped(reason: string, { context }: Scope): void {
  context.reportDropped({ field: "reasoning", weight: "report", reason });
}
