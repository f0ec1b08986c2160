import { oncePer } from "../../core/memo.ts";
import type { RequestContext, Target } from "../canonical/codec.ts";
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

/** What a target's provider and its model take. */
export interface ResponsesDialect extends ResponsesRules {
  /** Of OpenAI's models; `undefined` for every other, and for unknown names behind other services. */
  readonly model: OpenAiModelRules | undefined;
}

/** The dialect of a target; the widely understood one where none is known. */
export const dialectOf: (
  target: Pick<Target, "service" | "model">,
) => ResponsesDialect = oncePer(({ service, model }) => {
  const provider = RESPONSES_PROVIDERS.find((row) => row.service === service);
  const rules = provider?.rules ?? COMPATIBLE_RESPONSES;
  const known = openAiModelRules(model) ??
    (rules.openAiOnly ? UNKNOWN_OPENAI_MODEL : undefined);
  return {
    ...rules,
    cacheMarks: rules.cacheMarks && known?.cacheMarks === true,
    model: known,
    compilesPatterns: rules.compilesPatterns ||
      openAiModelRules(model) !== undefined,
  };
});

/** What every step of writing a request needs to know. */
export interface Scope {
  readonly dialect: ResponsesDialect;
  readonly context: RequestContext;
}
