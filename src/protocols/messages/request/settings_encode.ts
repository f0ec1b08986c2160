import { createHash } from "node:crypto";
import type { JsonObject } from "../../../core/json.ts";
import type {
  CanonicalRequest,
  RequestField,
} from "../../canonical/request/request.ts";
import type { Scope } from "../dialect.ts";

/** Longest `metadata.user_id`. */
const MAX_USER_LENGTH = 256;

/** Reports what the protocol has no place for. */
export function loseSettings(
  request: CanonicalRequest,
  { context, cache }: Scope,
): void {
  if (request.webSearch !== undefined) {
    context.reportDropped({
      field: "webSearch",
      weight: "reject",
      reason: "this model's provider does not search the web by such a setting",
    });
  }
  const { seed, frequencyPenalty, presencePenalty } = request.sampling;
  const lost: Partial<Record<RequestField, boolean>> = {
    verbosity: request.verbosity !== undefined,
    cacheKey: request.cacheKey !== undefined,
    metadata: request.metadata !== undefined,
    seed: seed !== undefined,
    // 0 is what no penalty means everywhere.
    frequencyPenalty: (frequencyPenalty ?? 0) !== 0,
    presencePenalty: (presencePenalty ?? 0) !== 0,
    cache: cache.surplus > 0,
  };
  for (const field of LOSABLE_FIELDS) {
    if (lost[field] !== true) continue;
    context.reportDropped({
      field,
      weight: "report",
      reason: field === "cache"
        ? "this model's provider takes at most four marks"
        : "this model's provider has no such setting",
    });
  }
}

const LOSABLE_FIELDS = [
  "verbosity",
  "cacheKey",
  "metadata",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "cache",
] as const;

/** Writes the strings that end the answer; blank ones would be refused. */
export function encodeStops(
  { stop = [] }: CanonicalRequest,
  { context }: Scope,
): JsonObject {
  const strings = stop.filter((one) => one.trim() !== "");
  if (strings.length < stop.length) {
    context.reportDropped({
      field: "stop",
      weight: "report",
      reason: "this model's provider takes no blank stop strings",
    });
  }
  return strings.length === 0 ? {} : { stop_sequences: strings };
}

/** Writes how urgently the upstream works. */
export function encodeServiceTier(
  { serviceTier }: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  if (serviceTier === undefined) return {};
  const { tier, raw } = serviceTier;
  if (tier === "flex" || !dialect.serviceTiers && tier !== "auto") {
    context.reportDropped({
      field: "serviceTier",
      weight: "report",
      reason: "this model's provider has no such tier",
    });
    return {};
  }
  if (!dialect.serviceTiers) return {};
  if (raw.protocol === "messages") return { service_tier: raw.value };
  return { service_tier: tier === "standard" ? "standard_only" : "auto" };
}

/**
 * Writes who is behind the request. The provider forbids e-mail addresses there and needs to tell users apart, not to
 * know them.
 */
export function encodeUser(
  user: string | undefined,
  extra: JsonObject["metadata"],
): JsonObject {
  const others = typeof extra === "object" ? extra : {};
  if (user === undefined) return {};
  const isFit = user.length <= MAX_USER_LENGTH && !user.includes("@");
  const id = isFit ? user : createHash("sha256").update(user).digest("hex");
  return { metadata: { ...others, user_id: id } };
}
