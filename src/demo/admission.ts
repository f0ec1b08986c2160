import { isJsonObject, type JsonObject, parseJson } from "../core/json.ts";
import { textOf } from "./ask/fields.ts";
import { INTERFACES } from "./interfaces.ts";
import { modelsOf } from "./models.ts";
import type { Provider, SimulatedProtocol } from "./providers.ts";
import { Refusal } from "./refusal.ts";

/**
 * Lets nobody pass without the provider's key: a bearer token, or `x-api-key` where Messages are spoken.
 *
 * @throws {Refusal} When no key is presented, or a wrong one.
 */
export function checkKey(
  headers: Headers,
  options: {
    readonly provider: Provider;
    readonly protocol: SimulatedProtocol;
  },
): void {
  const { takesApiKey, noKey, wrongKey } = INTERFACES[options.protocol];
  const presented = bearerToken(headers) ??
    (takesApiKey ? headers.get("x-api-key") : null);
  if (presented === options.provider.key) return;
  if (presented === null) {
    throw new Refusal("unauthenticated", noKey);
  }
  throw new Refusal("unauthenticated", wrongKey, { code: "invalid_api_key" });
}

/** The token of `Authorization: Bearer`; `null` without one. */
export function bearerToken(headers: Headers): string | null {
  return headers.get("authorization")?.match(/^Bearer\s+(.+)$/i)?.[1] ?? null;
}

/**
 * Asks of a request that it says which version of its protocol it speaks, where the protocol has versions.
 *
 * @throws {Refusal} When the header is missing or is no date.
 */
export function checkVersion(
  headers: Headers,
  protocol: SimulatedProtocol,
): void {
  const { versionHeader } = INTERFACES[protocol];
  if (versionHeader === undefined) return;
  const version = headers.get(versionHeader);
  if (version === null) {
    throw new Refusal("invalid", `${versionHeader}: header is required`);
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(version)) {
    throw new Refusal(
      "invalid",
      `${versionHeader}: "${version}" is not a valid version`,
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
  options: {
    readonly provider: Provider;
    readonly protocol: SimulatedProtocol;
  },
): string {
  const model = textOf(body.model);
  if (model === "") {
    throw new Refusal("invalid", INTERFACES[options.protocol].noModel, {
      param: "model",
      code: "missing_required_parameter",
    });
  }
  if (!modelsOf(options.provider.family).includes(model)) {
    throw unknownModel(model, options.protocol);
  }
  return model;
}

/** The refusal of a model that the provider does not have. */
export function unknownModel(
  model: string,
  protocol: SimulatedProtocol,
): Refusal {
  return new Refusal(
    "not_found",
    INTERFACES[protocol].unknownModel(model),
    { param: "model", code: "model_not_found" },
  );
}
