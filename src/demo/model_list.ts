import type { JsonObject } from "../core/json.ts";
import { unknownModel } from "./admission.ts";
import { INTERFACES } from "./interfaces.ts";
import { isThinkingModel, modelsOf } from "./models.ts";
import type { Provider } from "./providers.ts";

/** When the models of the demo came out: 2026-01-01, in seconds since 1970. */
const CREATED_AT = 1_767_225_600;

/** What every model of the demo is said to take in and to give, in tokens; it holds nobody to that. */
const CONTEXT_TOKENS = 200_000;
const OUTPUT_TOKENS = 64_000;

/** The list of a provider's models, in the shape that its callers expect. */
export function modelList(provider: Provider): JsonObject {
  const models = modelsOf(provider.family).map((id) => entry(id, provider));
  return INTERFACES[provider.plainProtocol].modelList(models);
}

/**
 * One model of a provider.
 *
 * @throws {Refusal} When the provider does not have it.
 */
export function modelNamed(id: string, provider: Provider): JsonObject {
  if (modelsOf(provider.family).includes(id)) return entry(id, provider);
  throw unknownModel(id, provider.plainProtocol);
}

function entry(id: string, { plainProtocol, name }: Provider): JsonObject {
  return INTERFACES[plainProtocol].model({
    id,
    owner: name,
    createdAt: CREATED_AT,
    contextWindow: CONTEXT_TOKENS,
    maxOutputTokens: OUTPUT_TOKENS,
    reasons: isThinkingModel(id),
  });
}
