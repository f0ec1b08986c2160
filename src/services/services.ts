import { CLOUDS } from "./clouds.ts";
import { HOSTED } from "./hosted.ts";
import { IN_HOUSE } from "./in_house.ts";
import { OPEN_MODELS } from "./open_models.ts";
import { PLAIN, type ServicePreset } from "./preset.ts";

const PRESETS = {
  ...HOSTED,
  ...OPEN_MODELS,
  ...CLOUDS,
  ...IN_HOUSE,
  // Another Model Gateway. It takes a bearer token on every route, Messages included.
  gateway: {
    ...PLAIN,
    family: undefined,
    endpoints: {},
    authScheme: "bearer",
    quotaKind: "gateway",
  },
  custom: {
    ...PLAIN,
    family: undefined,
    endpoints: {},
    authScheme: undefined,
    quotaKind: "none",
  },
} as const satisfies Readonly<Record<string, ServicePreset>>;

/** A kind of service that has a preset. */
export type ServiceName = keyof typeof PRESETS;

/**
 * The presets.
 *
 * A service of family A has a `messages` endpoint where the provider documents an Anthropic-compatible API. The service
 * has a `responses` endpoint only where the provider documents Responses for all models. Z.ai and DeepSeek offer
 * Responses for some models only, whereas translation to another protocol serves all models.
 *
 * A provider whose protocols serve different models has a service for each protocol, such as `bedrock` and
 * `bedrock-claude`. OpenAI has two services: `openai` translates chat requests, because family C is native to
 * Responses, and `openai-chat` passes chat requests through.
 */
export const SERVICES: Readonly<Record<ServiceName, ServicePreset>> = PRESETS;

/** Every value of a connection's `service`. */
export const SERVICE_NAMES = Object.keys(PRESETS).filter(isServiceName);

/** The services by the kind of their provider. */
export const SERVICES_BY_KIND: Readonly<
  Record<string, readonly ServiceName[]>
> = {
  "model makers": namesOf(HOSTED),
  "hosts of open models": namesOf(OPEN_MODELS),
  "clouds": namesOf(CLOUDS),
  "in the house": namesOf(IN_HOUSE),
  "others": ["gateway", "custom"],
};

function namesOf(presets: object): readonly ServiceName[] {
  return Object.keys(presets).filter(isServiceName);
}

/** Returns true when a text is the name of a service. */
export function isServiceName(text: string): text is ServiceName {
  return Object.hasOwn(PRESETS, text);
}
