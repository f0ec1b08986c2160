import { isJsonObject, type JsonObject, parseJson } from "../core/json.ts";
import type { Protocol } from "../core/protocol.ts";
import { textOf } from "./ask/fields.ts";
import { modelsOf } from "./models.ts";
import type { Provider } from "./providers.ts";
import { Refusal } from "./refusal.ts";

/**
 * Lets nobody pass without the provider's key: a bearer token, or `x-api-key` where Messages are spoken.
 *
 * @throws {Refusal} When no key is presented, or a wrong one.
 */
export function checkKey(
  headers: Headers,
  options: { readonly provider: Provider; readonly protocol: Protocol },
): void {
  const isMessages = options.protocol === "messages";
  const presented = bearerToken(headers) ??
    (isMessages ? headers.get("x-api-key") : null);
  if (presented === options.provider.key) return;
  if (presented === null) {
    throw new Refusal(
      "unauthenticated",
      isMessages
        ? "x-api-key header is required"
        : "You didn't provide an API key. Provide it in an Authorization header using Bearer auth.",
    );
  }
  throw new Refusal(
    "unauthenticated",
    isMessages ? "invalid x-api-key" : "Incorrect API key provided.",
    { code: "invalid_api_key" },
  );
}

/** The token of `Authorization: Bearer`; `null` without one. */
export function bearerToken(headers: Headers): string | null {
  return headers.get("authorization")?.match(/^Bearer\s+(.+)$/i)?.[1] ?? null;
}

/**
 * Asks of a Messages request that it says which version of the protocol it speaks.
 *
 * @throws {Refusal} When the header is missing or is no date.
 */
export function checkVersion(headers: Headers): void {
  const version = headers.get("anthropic-version");
  if (version === null) {
    throw new Refusal("invalid", "anthropic-version: header is required");
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(version)) {
    throw new Refusal(
      "invalid",
      `anthropic-version: "${version}" is not a valid version`,
    );
  }
}

/**
 * Reads the body of a request.
 *
 * @throws {Refusal} When it is not one object of JSON.
 */
export async function readBody(request: Request): Promise<JsonObject> {
  const body = parseJson(await request.text());
  if (isJsonObject(body)) return body;
  throw new Refusal(
    "invalid",
    "We could not parse the JSON body of your request.",
  );
}

/**
 * The model that a request names.
 *
 * @throws {Refusal} When it names none, or one that the provider does not have.
 */
export function readModel(
  body: JsonObject,
  options: { readonly provider: Provider; readonly protocol: Protocol },
): string {
  const isMessages = options.protocol === "messages";
  const model = textOf(body.model);
  if (model === "") {
    throw new Refusal(
      "invalid",
      isMessages
        ? "model: Field required"
        : "Missing required parameter: 'model'.",
      { param: "model", code: "missing_required_parameter" },
    );
  }
  if (!modelsOf(options.provider.family).includes(model)) {
    throw unknownModel(model, options.protocol);
  }
  return model;
}

/** The refusal of a model that the provider does not have. */
export function unknownModel(model: string, protocol: Protocol): Refusal {
  return new Refusal(
    "not_found",
    protocol === "messages"
      ? `model: ${model}`
      : `The model '${model}' does not exist or you do not have access to it.`,
    { param: "model", code: "model_not_found" },
  );
}
