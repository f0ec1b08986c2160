import type { JsonObject } from "../core/json.ts";
import { messagesError, openaiError, type Refusal, SHAPES } from "./refusal.ts";
import type { SimulatedProtocol } from "./providers.ts";

/** What differs between protocols beside the models' own requests and answers. */
export interface ProviderInterface {
  /** Whether a key may come as `x-api-key`. */
  readonly takesApiKey: boolean;
  /** The header that names the request in an answer. */
  readonly requestIdHeader: string;
  /** What is said to a request without a key, with a wrong one, and without a model. */
  readonly noKey: string;
  readonly wrongKey: string;
  readonly noModel: string;
  /** What is said to a model that does not exist. */
  unknownModel(model: string): string;
  /** The version header that requests must carry, if any. */
  readonly versionHeader: string | undefined;
  /** The body and the status of a refusal. */
  refusalBody(refusal: Refusal, requestId: string): JsonObject;
  refusalStatus(refusal: Refusal): number;
  /** A list of models. */
  modelList(models: JsonObject[]): JsonObject;
  /** One model. */
  model(model: DemoModel): JsonObject;
}

/** A model as its provider lists it. */
export interface DemoModel {
  readonly id: string;
  /** Whose it is. */
  readonly owner: string;
  /** In seconds since 1970. */
  readonly createdAt: number;
  /** In tokens. */
  readonly contextWindow: number;
  /** In tokens. */
  readonly maxOutputTokens: number;
  readonly reasons: boolean;
}

/** OpenAI's two protocols differ in nothing of this. */
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
  refusalBody: (refusal) => ({ error: openaiError(refusal) }),
  refusalStatus: ({ kind }) => SHAPES[kind].status,
  modelList: (data) => ({ object: "list", data }),
  // OpenAI itself says no more than the owner; the rest is as OpenRouter says it.
  model: (model) => ({
    id: model.id,
    object: "model",
    created: model.createdAt,
    owned_by: model.owner,
    context_length: model.contextWindow,
    top_provider: { max_completion_tokens: model.maxOutputTokens },
    architecture: { input_modalities: ["text", "image", "file", "audio"] },
    supported_parameters: [
      "max_tokens",
      "tools",
      ...(model.reasons ? ["reasoning"] : []),
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
  refusalBody: (refusal, requestId) => ({
    type: "error",
    error: messagesError(refusal),
    request_id: requestId,
  }),
  // An overloaded Messages provider answers 529, a status of its own.
  refusalStatus: ({ kind }) =>
    kind === "overloaded" ? 529 : SHAPES[kind].status,
  modelList: (data) => ({
    data,
    has_more: false,
    first_id: data.at(0)?.id,
    last_id: data.at(-1)?.id,
  }),
  model: (model) => ({
    type: "model",
    id: model.id,
    display_name: model.id,
    created_at: new Date(model.createdAt * 1000).toISOString(),
    max_input_tokens: model.contextWindow,
    max_tokens: model.maxOutputTokens,
    capabilities: {
      image_input: { supported: true },
      pdf_input: { supported: true },
      thinking: { supported: model.reasons },
    },
  }),
};

/** What the simulated providers say in each protocol. */
export const INTERFACES: Readonly<
  Record<SimulatedProtocol, ProviderInterface>
> = {
  chat: OPENAI,
  messages: MESSAGES,
  responses: OPENAI,
};
