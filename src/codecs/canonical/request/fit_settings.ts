import type { Protocol } from "@gateway/base/protocol";
import {
  type Ability,
  OPTIONAL_SETTINGS,
  type OptionalSetting,
  type SamplingAbility,
} from "./ability.ts";
import { isOwnIdentifier, type LossReport, NO_SETTING } from "./loss.ts";
import type { CanonicalRequest, Sampling, ServiceTier } from "./request.ts";

/** The settings whose loss changes the answer. If the target lacks such a setting, the request is rejected. */
const REJECTED: ReadonlySet<OptionalSetting> = new Set([
  "logprobs",
  "webSearch",
]);

/** The parts of an ability that decide about settings. */
type SettingAbility = Pick<
  Ability,
  "protocol" | "settings" | "sampling" | "tiers"
>;

/**
 * Returns the request without the settings that the target does not take. Each removed setting is reported. A raw
 * setting in the spelling of the target's protocol is never removed.
 *
 * @param isReasoning True when the model reasons in this request; `undefined` when that is unknown.
 * @throws {GatewayError} As {@linkcode LossReport.reportDropped} does.
 */
export function fitSettings(
  given: CanonicalRequest,
  ability: SettingAbility,
  isReasoning: boolean | undefined,
  losses: LossReport,
): CanonicalRequest {
  const request = fitTemperature(given, ability, losses);
  const { protocol, settings, sampling } = ability;
  const isFixed = sampling.free === "never" ||
    sampling.free === "without_reasoning" && isReasoning === true;
  const lost = OPTIONAL_SETTINGS.filter((setting) => {
    if (valueOf(request, setting) === undefined) return false;
    return settings[setting]
      ? isFixed && sampling.fixed.includes(setting) &&
        !isNeutral(request.sampling, setting, sampling)
      : !isRawOf(request, setting, protocol);
  });
  for (const setting of lost) {
    if (!isGiven(request, setting)) continue;
    losses.reportDropped(
      setting,
      settings[setting] ? NOT_ACCEPTED : NO_SETTING,
      REJECTED.has(setting) ? "reject" : "report",
    );
  }
  const isDouble = !sampling.both && !lost.includes("topP") &&
    request.sampling.topP !== undefined && !lost.includes("temperature") &&
    request.sampling.temperature !== undefined;
  if (isDouble) losses.reportDropped("topP", NOT_ACCEPTED);
  const serviceTier = fitTier(request.serviceTier, ability, losses);
  // An encoder would send `conversation` in place of a missing cache key.
  const conversation = settings.cacheKey ? request.conversation : undefined;
  const names = isDouble ? [...lost, "topP"] : lost;
  const isSame = names.length === 0 && serviceTier === request.serviceTier &&
    conversation === request.conversation;
  if (isSame) return request;
  const removed = Object.fromEntries(names.map((one) => [one, undefined]));
  return {
    ...request,
    ...removed,
    sampling: { ...request.sampling, ...removed },
    serviceTier,
    conversation,
  };
}

const NOT_ACCEPTED = "this model does not accept this value";

/** Returns the tier, if the target knows it. */
function fitTier(
  given: ServiceTier | undefined,
  { tiers }: SettingAbility,
  losses: LossReport,
): ServiceTier | undefined {
  if (given === undefined || tiers.includes(given.tier)) return given;
  if (given.tier !== "auto") {
    losses.reportDropped(
      "serviceTier",
      "this model's provider has no such tier",
    );
  }
  return undefined;
}

function fitTemperature(
  request: CanonicalRequest,
  { sampling: { mostTemperature } }: SettingAbility,
  losses: LossReport,
): CanonicalRequest {
  const { sampling } = request;
  if ((sampling.temperature ?? 0) <= mostTemperature) return request;
  losses.reportDropped("temperature", NOT_ACCEPTED);
  return {
    ...request,
    sampling: { ...sampling, temperature: mostTemperature },
  };
}

/** Returns true when a model with fixed sampling accepts the setting's value. */
function isNeutral(
  { temperature, topP }: Sampling,
  setting: OptionalSetting,
  { leastTopP }: SamplingAbility,
): boolean {
  if (leastTopP === undefined) return false;
  return setting === "temperature" && temperature === 1 ||
    setting === "topP" && (topP ?? 0) >= leastTopP;
}

function isRawOf(
  request: CanonicalRequest,
  setting: OptionalSetting,
  protocol: Protocol,
): boolean {
  return (setting === "cacheOptions" || setting === "cacheRetention" ||
    setting === "safetyIdentifier") && request[setting]?.protocol === protocol;
}

/** Returns the value of a setting; `undefined` when the request does not set it. */
function valueOf(request: CanonicalRequest, setting: OptionalSetting): unknown {
  switch (setting) {
    case "temperature":
    case "topP":
    case "topK":
    case "seed":
    case "frequencyPenalty":
    case "presencePenalty":
      return request.sampling[setting];
    default:
      return request[setting];
  }
}

/** Returns true when dropping a setting of the request would lose something that the request asks for. */
function isGiven(
  request: CanonicalRequest,
  setting: OptionalSetting,
): boolean {
  switch (setting) {
    case "frequencyPenalty":
    case "presencePenalty":
      // A penalty of 0 is the default everywhere.
      return request.sampling[setting] !== 0;
    case "safetyIdentifier":
      // An identifier that equals `user` is sent as `user`.
      return isOwnIdentifier(request);
    default:
      return true;
  }
}
