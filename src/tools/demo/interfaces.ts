import { GatewayError } from "@gateway/base/error";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nonEmptyText,
  parseJson,
} from "@gateway/base/json";
import {
  isThinkingModel,
  modelsOf,
  type Provider,
  type SimulatedProtocol,
} from "./providers.ts";

/** The release date of the demo's models: 2026-01-01, in seconds since 1970. */
const CREATED_AT = 1_767_225_600;

/** The context size and the output limit in the demo's list of models, in tokens. The demo enforces neither number. */
const CONTEXT_TOKENS = 200_000;
const OUTPUT_TOKENS = 64_000;

/**
 * The rules that both OpenAI protocols have in common, and in which Messages differs. How a model's requests and
 * answers are written is not part of these rules.
 */
const OPENAI = {
  /** True when the key may be in `x-api-key`. */
  takesApiKey: false,
  /** The response header with the id of the request. */
  requestIdHeader: "x-request-id",
  noKey:
    "You didn't provide an API key. Provide it in an Authorization header using Bearer auth.",
  wrongKey: "Incorrect API key provided.",
  noModel: "Missing required parameter: 'model'.",
  unknownModel: (model: string) =>
    `The model '${model}' does not exist or you do not have access to it.`,
  /** The required version header, if any. */
  versionHeader: undefined,
  overloadedStatus: 503,
  modelList: (data: JsonObject[]) => ({ object: "list", data }),
  // OpenAI's own list has only the first four fields. The other fields are from OpenRouter's list.
  model: (id: string, owner: string) => ({
    id,
    object: "model",
    created: CREATED_AT,
    owned_by: owner,
    context_length: CONTEXT_TOKENS,
    top_provider: { max_completion_tokens: OUTPUT_TOKENS },
    architecture: { input_modalities: ["text", "image", "file", "audio"] },
    supported_parameters: [
      "max_tokens",
      "tools",
      ...(isThinkingModel(id) ? ["reasoning"] : []),
    ],
  }),
};

const MESSAGES = {
  takesApiKey: true,
  requestIdHeader: "request-id",
  noKey: "x-api-key header is required",
  wrongKey: "invalid x-api-key",
  noModel: "model: Field required",
  unknownModel: (model: string) => `model: ${model}`,
  versionHeader: "anthropic-version",
  overloadedStatus: 529,
  modelList: (data: JsonObject[]) => ({
    data,
    has_more: false,
    first_id: data.at(0)?.id,
    last_id: data.at(-1)?.id,
  }),
  model: (id: string) => ({
    type: "model",
    id,
    display_name: id,
    created_at: new Date(CREATED_AT * 1000).toISOString(),
    max_input_tokens: CONTEXT_TOKENS,
    max_tokens: OUTPUT_TOKENS,
    capabilities: {
      image_input: { supported: true },
      pdf_input: { supported: true },
      thinking: { supported: isThinkingModel(id) },
    },
  }),
};

/** The interface of each protocol. */
export const INTERFACES = {
  chat: OPENAI,
  messages: MESSAGES,
  responses: OPENAI,
} as const satisfies Record<SimulatedProtocol, object>;

/** The provider and the protocol that a request is for. */
interface Place {
  readonly provider: Provider;
  readonly protocol: SimulatedProtocol;
}

/**
 * Rejects a request without the provider's key, as a bearer token or, in Messages, as `x-api-key`.
 *
 * @throws {GatewayError} When the key is missing or wrong.
 */
export function checkKey(
  headers: Headers,
  { provider, protocol }: Place,
): void {
  const { takesApiKey, noKey, wrongKey } = INTERFACES[protocol];
  const presented = bearerToken(headers) ??
    (takesApiKey ? headers.get("x-api-key") : null);
  if (presented === provider.key) return;
  throw presented === null
    ? new GatewayError("unauthenticated", noKey)
    : new GatewayError("unauthenticated", wrongKey, {
      code: "invalid_api_key",
    });
}

/** Returns the token of `Authorization: Bearer`; `null` without one. */
export function bearerToken(headers: Headers): string | null {
  return headers.get("authorization")?.match(/^Bearer\s+(.+)$/i)?.[1] ?? null;
}

/**
 * Rejects a request without the version header of its protocol, if the protocol has one.
 *
 * @throws {GatewayError} When the header is missing or is not a date.
 */
export function checkVersion(
  headers: Headers,
  protocol: SimulatedProtocol,
): void {
  const { versionHeader } = INTERFACES[protocol];
  if (versionHeader === undefined) return;
  const version = headers.get(versionHeader);
  if (version !== null && /^\d{4}-\d{2}-\d{2}$/.test(version)) return;
  const fault = version === null
    ? "header is required"
    : `"${version}" is not a valid version`;
  throw new GatewayError("invalid_request", `${versionHeader}: ${fault}`);
}

/**
 * Reads the body of a request.
 *
 * @throws {GatewayError} When the body is not one JSON object.
 */
export async function readBody(request: Request): Promise<JsonObject> {
  const body = parseJson(await request.text());
  if (isJsonObject(body)) return body;
  throw new GatewayError(
    "invalid_request",
    "We could not parse the JSON body of your request.",
  );
}

/**
 * Reads the name of a model.
 *
 * @throws {GatewayError} When the name is missing, or the provider has no such model.
 */
export function readModel(
  given: JsonValue | undefined,
  { provider, protocol }: Place,
): string {
  const { noModel, unknownModel } = INTERFACES[protocol];
  const model = nonEmptyText(given);
  if (model !== undefined && modelsOf(provider.family).includes(model)) {
    return model;
  }
  const param = "model";
  throw model === undefined
    ? new GatewayError("invalid_request", noModel, {
      param,
      code: "missing_required_parameter",
    })
    : new GatewayError("not_found", unknownModel(model), {
      param,
      code: "model_not_found",
    });
}
