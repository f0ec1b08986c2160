import type { Protocol } from "@gateway/base/protocol";
import { isOwnIdentifier, type LossReport, NO_SETTING } from "./loss.ts";
import type { CanonicalRequest, RequestField } from "./request.ts";

/** The settings that only some targets take. */
const OPTIONAL_SETTINGS = [
  "temperature",
  "topP",
  "topK",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "maxOutputTokens",
  "verbosity",
  "user",
  "cacheKey",
  "metadata",
  "serviceTier",
  "logprobs",
  "cacheOptions",
  "cacheRetention",
  "safetyIdentifier",
] as const satisfies readonly RequestField[];

/** One of the settings that only some targets take. */
export type OptionalSetting = typeof OPTIONAL_SETTINGS[number];

/** OpenAI's sampling settings, which its reasoning models refuse. */
export const SAMPLING_SETTINGS = [
  "temperature",
  "topP",
  "frequencyPenalty",
  "presencePenalty",
] as const satisfies readonly OptionalSetting[];

/** Returns the names that are true in a table of settings that a target lacks. */
export function lacksOf(
  table: Readonly<Partial<Record<OptionalSetting, boolean>>>,
): readonly OptionalSetting[] {
  return OPTIONAL_SETTINGS.filter((setting) => table[setting] === true);
}

/**
 * Returns the request without the settings that the target lacks, which are reported.
 *
 * @param protocol The target's protocol. A raw setting of the same protocol goes to every target.
 * @throws {GatewayError} As {@linkcode LossReport.reportDropped} does.
 */
export function fitSettings(
  request: CanonicalRequest,
  { protocol, lacks }: {
    readonly protocol: Protocol;
    readonly lacks: readonly OptionalSetting[];
  },
  losses: LossReport,
): CanonicalRequest {
  const lost = OPTIONAL_SETTINGS.filter((setting) =>
    lacks.includes(setting) && !isRawOf(request, setting, protocol)
  );
  if (lost.length === 0) return request;
  for (const setting of lost) {
    if (!isGiven(request, setting)) continue;
    losses.reportDropped(
      setting,
      NO_SETTING,
      setting === "logprobs" ? "reject" : "report",
    );
  }
  const removed = Object.fromEntries(lost.map((one) => [one, undefined]));
  return {
    ...request,
    ...removed,
    sampling: { ...request.sampling, ...removed },
    // An encoder would send `conversation` in place of a missing cache key.
    ...(lost.includes("cacheKey") ? { conversation: undefined } : {}),
  };
}

function isRawOf(
  request: CanonicalRequest,
  setting: OptionalSetting,
  protocol: Protocol,
): boolean {
  return (setting === "cacheOptions" || setting === "cacheRetention" ||
    setting === "safetyIdentifier") && request[setting]?.protocol === protocol;
}

/** Returns true when dropping the setting would lose something that the request asks for. */
function isGiven(
  request: CanonicalRequest,
  setting: OptionalSetting,
): boolean {
  switch (setting) {
    case "temperature":
    case "topP":
    case "topK":
    case "seed":
      return request.sampling[setting] !== undefined;
    case "frequencyPenalty":
    case "presencePenalty":
      // A penalty of 0 is the default everywhere.
      return (request.sampling[setting] ?? 0) !== 0;
    case "serviceTier":
      return (request.serviceTier?.tier ?? "auto") !== "auto";
    case "safetyIdentifier":
      // An identifier that equals `user` is sent as `user`.
      return isOwnIdentifier(request);
    default:
      return request[setting] !== undefined;
  }
}
