import { oncePer } from "@gateway/base/memo";
import type { RequestContext, Target } from "../canonical/codec.ts";
import {
  lacksOf,
  type OptionalSetting,
} from "../canonical/request/fit_settings.ts";
import type { ReasoningAbility } from "../canonical/request/fit_reasoning.ts";
import type { ChoiceAbility } from "../canonical/tools/fit_choice.ts";
import { createStrictRoom } from "../canonical/schema/enforceable_schema.ts";
import type {
  SchemaAbility,
  SchemaScope,
} from "../canonical/schema/fit_schemas.ts";
import {
  type OpenAiModelRules,
  openAiModelRules,
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
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";

export interface ResponsesDialect extends ResponsesRules {
  /** The rules of an OpenAI model, or `undefined` for other models and for unknown names at other services. */
  readonly model: OpenAiModelRules | undefined;
  /** The settings that the provider does not have. */
  readonly lacks: readonly OptionalSetting[];
  /** The tools and choices that the model takes. */
  readonly choice: ChoiceAbility;
  /** The reasoning settings that the model takes. */
  readonly ability: ReasoningAbility;
  /** The schemas of tools and formats that the provider takes. */
  readonly schema: SchemaAbility;
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
    cacheMarks: rules.cacheMarks && known?.cacheMarks === true,
    model: known,
    lacks: lacksOf({
      topK: true,
      seed: true,
      frequencyPenalty: true,
      presencePenalty: true,
      temperature: !rules.limits,
      topP: !rules.limits,
      maxOutputTokens: !rules.limits,
      user: !rules.records,
      metadata: !rules.records,
      logprobs: !rules.limits || !rules.hostedTools,
      cacheOptions: !rules.cacheMarks || known?.cacheMarks !== true,
      cacheRetention: !rules.records || known?.cacheRetention !== true,
      safetyIdentifier: !rules.records ||
        rules.userField !== "safety_identifier",
    }),
    choice: {
      protocol: "responses",
      allowedList: rules.fullToolset,
      force: "named",
      forbid: true,
      webSearch: rules.hostedTools,
    },
    ability: abilityOf(rules, model, known),
    schema: {
      subset: schemaSubsetOf({ service, model }),
      enforces: rules.fullToolset || known !== undefined ? "openai" : "any",
      json: "object",
      formatSchemas: true,
      formatsWithTools: true,
    },
  };
});

/** Returns the reasoning settings that a model takes in Responses. */
function abilityOf(
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

/** Returns the scope of the schemas of one request. */
export function schemaScope({ dialect, context }: Scope): SchemaScope {
  return { ability: dialect.schema, room: createStrictRoom(), losses: context };
}
