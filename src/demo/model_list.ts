import { unknownModel } from "./admission.ts";
import { modelsOf } from "./models.ts";
import type { Provider } from "./providers.ts";

/** When the models of the demo came out: 2026-01-01, in seconds since 1970. */
const CREATED_AT = 1_767_225_600;

/** The list of a provider's models: in the Messages form for family B, else in the OpenAI form. */
export function modelList(provider: Provider): object {
  const ids = modelsOf(provider.family);
  const data = ids.map((id) => modelEntry(id, provider));
  return provider.family === "B"
    ? { data, has_more: false, first_id: ids[0], last_id: ids.at(-1) }
    : { object: "list", data };
}

/**
 * One model of a provider.
 *
 * @throws {Refusal} When the provider does not have it.
 */
export function modelNamed(id: string, provider: Provider): object {
  if (modelsOf(provider.family).includes(id)) return modelEntry(id, provider);
  throw unknownModel(id, provider.family === "B" ? "messages" : "chat");
}

function modelEntry(id: string, { family, name }: Provider): object {
  return family === "B"
    ? {
      type: "model",
      id,
      display_name: id,
      created_at: new Date(CREATED_AT * 1000).toISOString(),
    }
    : { id, object: "model", created: CREATED_AT, owned_by: name };
}
