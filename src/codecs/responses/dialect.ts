import type { RequestContext, Target } from "../canonical/codec.ts";
import {
  type Ability,
  type AbilityRow,
  createDialects,
  withRows,
} from "../canonical/request/ability.ts";
import { strictestEffort } from "../dialects/chat_rules.ts";
import { rulesFor } from "../dialects/model_rows.ts";
import {
  openAiCacheRow,
  type OpenAiModelRules,
  openAiModelRules,
  openAiRow,
  takesParallel,
  UNKNOWN_OPENAI_MODEL,
} from "../dialects/openai_models.ts";
import {
  COMPATIBLE_RESPONSES,
  COMPATIBLE_SPELLING,
  OPENAI_RESPONSES,
  RESPONSES,
  RESPONSES_PROVIDERS,
  type ResponsesSpelling,
} from "../dialects/responses_providers.ts";
import { schemaSubsetOf } from "../dialects/schema_subsets.ts";

export interface ResponsesDialect extends ResponsesSpelling {
  /** The requests that the model takes. */
  readonly ability: Ability;
  /** The rules of an OpenAI model, or `undefined` for other models and for unknown names at other services. */
  readonly model: OpenAiModelRules | undefined;
  /** True when all models of the provider are OpenAI's. */
  readonly openAiOnly: boolean;
  /** True when the provider itself adjusts effort and sampling to the model. */
  readonly fitsModel: boolean;
}

/** Returns the dialect of a target. For an unknown provider, returns the most compatible dialect. */
export const dialectOf: (
  target: Pick<Target, "service" | "model" | "ability">,
) => ResponsesDialect = createDialects((target) => {
  const { service, model } = target;
  const {
    rows,
    spelling,
    families = [],
    openAiOnly = false,
    fitsModel = false,
  } = RESPONSES_PROVIDERS.find(({ services }) => services.includes(service)) ??
    { rows: [COMPATIBLE_RESPONSES], spelling: COMPATIBLE_SPELLING };
  const common = withRows(RESPONSES, ...rows);
  const known = openAiModelRules(target) ??
    (openAiOnly ? UNKNOWN_OPENAI_MODEL : undefined);
  const family = rulesFor(families, model, strictestEffort)?.ability;
  return {
    ...OPENAI_RESPONSES,
    ...spelling,
    model: known,
    openAiOnly,
    fitsModel,
    ability: withRows(
      common,
      known === undefined
        ? family
        : fitsModel
        ? { reasoning: { byDefault: known.defaultEffort !== "none" } }
        : openAiRow(known, RESPONSES),
      openAiCacheRow(common, known),
      {
        tools: { parallel: takesParallel(target) },
        schemas: {
          subset: schemaSubsetOf(target),
          ...(known === undefined ? {} : { enforces: "openai" }),
        },
      },
    ),
  };
}, unspoken);

/** Returns the row that takes from an ability what the fields of Responses cannot express. */
function unspoken({ cacheMarks }: Ability): AbilityRow {
  return {
    reasoning: { modes: [] },
    limits: { mostStops: 0 },
    settings: {
      ...{ topK: false, seed: false },
      ...{ frequencyPenalty: false, presencePenalty: false },
    },
    cacheMarks: cacheMarks === "none" ? "none" : "content",
    continues: false,
    names: false,
  };
}

/** The dialect and context that each step of encoding a request needs. */
export interface Scope {
  readonly dialect: ResponsesDialect;
  readonly context: RequestContext;
}
