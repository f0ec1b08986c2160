import { GatewayError } from "@gateway/base/error";
import {
  isJsonObject,
  type JsonObject,
  nonEmptyText,
  parseJson,
} from "@gateway/base/json";
import {
  isThinkingModel,
  modelsOf,
  type Provider,
  type SimulatedProtocol,
} from "./providers.ts";

/** The differences between the protocols, apart from requests and answers of models. */
interface ProviderInterface {
  /** True when the key may be in `x-api-key`. */
  readonly takesApiKey: boolean;
  /** The response header with the id of the request. */
  readonly requestIdHeader: string;
  /** The messages for a request without a key, with a wrong key, and without a model. */
  readonly noKey: string;
  readonly wrongKey: string;
  readonly noModel: string;
  /** Returns the message for an unknown model. */
  unknownModel(model: string): string;
  /** The required version header, if any. */
  readonly versionHeader: string | undefined;
  /** The status of a provider that is overloaded. */
  readonly overloadedStatus: number;
  /** Returns a list of models. */
  modelList(models: JsonObject[]): JsonObject;
  /**
   * Returns the entry of one model.
   *
   * @param owner The owner's name.
   */
  model(id: string, owner: string): JsonObject;
}

/** The release date of the demo's models: 2026-01-01, in seconds since 1970. */
const CREATED_AT = 1_767_225_600;

/** The sizes in the demo's list of models, in tokens; the demo does not enforce them. */
const CONTEXT_TOKENS = 200_000;
const OUTPUT_TOKENS = 64_000;

/** The interface of both OpenAI protocols. */
const OPENAI: ProviderInterface = {
  takesApiKey: false,
  requestIdHeader: "x-request-id",
  noKey:
    "You didn't provide an API key. Provide it in an Authorization header using Bearer auth.",
  wrongKey: "Incorrect API key provided.",
  noModel: "Missing required parameter: 'model'.",
  unknownModel: (model) =>
    `The model '${model}' does not exist or you do not have access to it.`,
  versionHeader: undefined,
  overloadedStatus: 503,
  modelList: (data) => ({ object: "list", data }),
  // OpenAI itself gives only the owner; the other fields are those of OpenRouter.
  model: (id, owner) => ({
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

const MESSAGES: ProviderInterface = {
  takesApiKey: true,
  requestIdHeader: "request-id",
  noKey: "x-api-key header is required",
  wrongKey: "invalid x-api-key",
  noModel: "model: Field required",
  unknownModel: (model) => `model: ${model}`,
  versionHeader: "anthropic-version",
  overloadedStatus: 529,
  modelList: (data) => ({
    data,
    has_more: false,
    first_id: data.at(0)?.id,
    last_id: data.at(-1)?.id,
  }),
  model: (id) => ({
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
export const INTERFACES: Readonly<
  Record<SimulatedProtocol, ProviderInterface>
> = {
  chat: OPENAI,
  messages: MESSAGES,
  responses: OPENAI,
};

/**
 * Rejects a request without the provider's key, as a bearer token or, in Messages, as `x-api-key`.
 *
 * @throws {GatewayError} When the key is missing or wrong.
 */
export function checkKey(
  headers: Headers,
  { provider, protocol }: {
    readonly provider: Provider;
    readonly protocol: SimulatedProtocol;
  },
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
 * @throws {GatewayError} When it is not one JSON object.
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
 * Reads the model of a request.
 *
 * @throws {GatewayError} When the model is missing or unknown to the provider.
 */
export function readModel(
  body: JsonObject,
  { provider, protocol }: {
    readonly provider: Provider;
    readonly protocol: SimulatedProtocol;
  },
): string {
  const model = nonEmptyText(body.model);
  if (model === undefined) {
    throw new GatewayError("invalid_request", INTERFACES[protocol].noModel, {
      param: "model",
      code: "missing_required_parameter",
    });
  }
  if (modelsOf(provider.family).includes(model)) return model;
  throw unknownModel(model, protocol);
}

/** Returns the refusal of an unknown model. */
export function unknownModel(
  model: string,
  protocol: SimulatedProtocol,
): GatewayError {
  return new GatewayError(
    "not_found",
    INTERFACES[protocol].unknownModel(model),
    { param: "model", code: "model_not_found" },
  );
}
