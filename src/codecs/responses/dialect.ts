import { oncePer } from "@gateway/base/memo";
import type { RequestContext, Target } from "../canonical/codec.ts";
import type { Ability } from "../canonical/request/ability.ts";
import type { ReasoningAbility } from "../canonical/request/ability.ts";
import {
  type OpenAiModelRules,
  openAiModelRules,
  takesParallel,
  UNKNOWN_OPENAI_MODEL,
} from "../dialects/openai_models.ts";
import {
  COMPATIBLE_RESPONSES,
  RESPONSES_PROVIDERS,
  type ResponsesRules,
} from "../dialects/responses_providers.ts";
import {
  effortAbility,
  openAiAbility,
} from "../dialects/reasoning_abilities.ts";
import { rulesFor, strictestEffort } from "../dialects/effort.ts";
import { SAMPLING_SETTINGS } from "../canonical/request/fit_settings.ts";
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";

export interface ResponsesDialect extends ResponsesRules {
  /** The rules of an OpenAI model, or `undefined` for other models and for unknown names at other services. */
  readonly model: OpenAiModelRules | undefined;
  /** The requests that the model takes. */
  readonly ability: Ability;
}

/** Returns the dialect of a target, or the most compatible one for an unknown provider. */
export const dialectOf: (
  target: Pick<Target, "service" | "model">,
) => ResponsesDialect = oncePer(({ service, model }) => {
  const provider = RESPONSES_PROVIDERS.find(({ services }) =>
    services.includes(service)
  );
  const rules = provider?.rules ?? COMPATIBLE_RESPONSES;
  const known = openAiModelRules({ service, model }) ??
    (rules.openAiOnly ? UNKNOWN_OPENAI_MODEL : undefined);
  return {
    ...rules,
    model: known,
    ability: abilityOf(rules, { service, model }, known),
  };
});

/** Returns the requests that a model takes. */
function abilityOf(
  rules: ResponsesRules,
  target: Pick<Target, "service" | "model">,
  known: OpenAiModelRules | undefined,
): Ability {
  const { fullToolset, limits, records, hostedTools } = rules;
  const isOpenAi = known !== undefined && !rules.fitsModel;
  const cacheMarks = rules.cacheMarks && known?.cacheMarks === true;
  return {
    protocol: "responses",
    reasoning: reasoningOf(rules, target.model, known),
    tools: {
      allowedList: fullToolset,
      force: "named",
      forbid: true,
      webSearch: hostedTools,
      mixedStrict: true,
      parallel: takesParallel(target),
    },
    schemas: {
      subset: schemaSubsetOf(target),
      enforces: fullToolset || known !== undefined ? "openai" : "any",
      json: "object",
      formatSchemas: true,
      formatsWithTools: true,
    },
    sampling: {
      free: isOpenAi ? "without_reasoning" : "always",
      fixed: [...SAMPLING_SETTINGS, "logprobs"],
      both: true,
      mostTemperature: Infinity,
    },
    limits: {
      leastOutputTokens: rules.minOutputTokens,
      mostOutputTokens: Infinity,
      usualOutputTokens: undefined,
      mostWholeTokens: Infinity,
      mostStops: 0,
      blankStops: true,
      mostCacheMarks: Infinity,
    },
    settings: {
      temperature: limits,
      topP: limits,
      topK: false,
      seed: false,
      frequencyPenalty: false,
      presencePenalty: false,
      maxOutputTokens: limits,
      verbosity: true,
      user: records,
      cacheKey: true,
      metadata: records,
      logprobs: limits && hostedTools,
      webSearch: hostedTools,
      cacheOptions: cacheMarks,
      cacheRetention: records && known?.cacheRetention === true,
      safetyIdentifier: records && rules.userField === "safety_identifier",
    },
    tiers: records
      ? ["auto", "standard", "flex", "priority"]
      : ["auto", "standard", "priority"],
    cacheMarks: cacheMarks ? "content" : "none",
    continues: false,
    names: false,
    citations: false,
  };
}

/** Returns the reasoning settings that a model takes in Responses. */
function reasoningOf(
  { fitsModel, effortModels }: ResponsesRules,
  model: string,
  known: OpenAiModelRules | undefined,
): ReasoningAbility {
  const rules = rulesFor(effortModels, model, strictestEffort);
  if (known !== undefined && !fitsModel) {
    return openAiAbility(known, "responses");
  }
  if (rules !== undefined) return effortAbility(rules);
  const byDefault = known && known.defaultEffort !== "none";
  return { byDefault, modes: [], efforts: undefined };
}

/** The dialect and context that each step of encoding a request needs. */
export interface Scope {
  readonly dialect: ResponsesDialect;
  readonly context: RequestContext;
}
