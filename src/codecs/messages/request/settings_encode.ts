import { createHash } from "node:crypto";
import type { JsonObject } from "@gateway/base/json";
import type { OptionalSetting } from "../../canonical/request/fit_settings.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import type { Scope } from "../dialect.ts";

/** The maximum length of `metadata.user_id`. */
const MAX_USER_LENGTH = 256;

/** Reports the settings that the protocol cannot express. */
export function dropSettings(
  request: CanonicalRequest,
  { context, cache }: Scope,
): void {
  if (request.webSearch !== undefined) {
    context.reportDropped(
      "webSearch",
      "this model's provider does not search the web through a setting",
      "reject",
    );
  }
  if (cache.surplus > 0) {
    context.reportDropped(
      "cache",
      "this model's provider accepts at most four marks",
    );
  }
}

/** The settings that the protocol does not have. */
export const LACKS: readonly OptionalSetting[] = [
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "verbosity",
  "metadata",
  "logprobs",
  "cacheOptions",
  "cacheRetention",
  "safetyIdentifier",
];

/** Returns the stop strings, without blank ones, which providers reject. */
export function encodeStops(
  { stop = [] }: CanonicalRequest,
  { context }: Scope,
): JsonObject {
  const strings = stop.filter((one) => one.trim() !== "");
  if (strings.length < stop.length) {
    context.reportDropped(
      "stop",
      "this model's provider accepts no blank stop strings",
    );
  }
  return strings.length === 0 ? {} : { stop_sequences: strings };
}

export function encodeServiceTier(
  { serviceTier }: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  if (serviceTier === undefined) return {};
  const { tier, raw } = serviceTier;
  if (tier === "flex" || !dialect.serviceTiers && tier !== "auto") {
    context.reportDropped(
      "serviceTier",
      "this model's provider has no such tier",
    );
    return {};
  }
  if (!dialect.serviceTiers) return {};
  if (raw.protocol === "messages") return { service_tier: raw.value };
  return { service_tier: tier === "standard" ? "standard_only" : "auto" };
}

/**
 * Returns the user id, hashed when it is too long or has an `@`. The provider forbids e-mail addresses there, and only
 * needs to distinguish users.
 */
export function encodeUser(
  user: string | undefined,
  extra: JsonObject["metadata"],
): JsonObject {
  const others = typeof extra === "object" ? extra : {};
  if (user === undefined) return {};
  const isAccepted = user.length <= MAX_USER_LENGTH && !user.includes("@");
  const id = isAccepted
    ? user
    : createHash("sha256").update(user).digest("hex");
  return { metadata: { ...others, user_id: id } };
}
