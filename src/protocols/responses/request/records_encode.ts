import { createHash } from "node:crypto";
import { type JsonObject, present } from "../../../core/json.ts";
import type { RequestContext } from "../../canonical/codec.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import type { Scope } from "../dialect.ts";
import { loseGiven } from "./lose.ts";
import { encodeServiceTier } from "./settings.ts";

/** Longest id of a user and longest cache key. */
const MAX_ID_LENGTH = 64;

/** Who asks, and what the upstream notes of it. Requests of one user share a prompt cache where no key is given. */
export function encodeRecords(
  request: CanonicalRequest,
  { dialect, context }: Scope,
): JsonObject {
  const { user, cacheKey, conversation, metadata } = request;
  const key = cacheKey ?? conversation ?? user;
  const prompt_cache_key = key === undefined ? undefined : shortId(key);
  if (!dialect.records) {
    loseGiven(context, [["user", user], ["metadata", metadata]]);
    return present({ prompt_cache_key, ...encodePriority(request, context) });
  }
  return present({
    prompt_cache_key,
    ...encodeUser(request, dialect.userField),
    metadata: metadata === undefined ? undefined : { ...metadata },
    service_tier: request.serviceTier === undefined
      ? undefined
      : encodeServiceTier(request.serviceTier),
  });
}

/**
 * Where the caller used the protocol's own fields, `encodeExtras` writes them again. Beside a `safety_identifier` of
 * its own, the user stands under its own name.
 */
function encodeUser(
  { user, extras }: CanonicalRequest,
  field: string,
): JsonObject {
  const own = extras.responses ?? {};
  if (user === undefined || own.user || own.safety_identifier) return {};
  const other = extras.chat?.safety_identifier;
  const isBeside = other !== undefined && other.weight !== "silent";
  return { [isBeside ? "user" : field]: shortId(user) };
}

function encodePriority(
  { serviceTier }: CanonicalRequest,
  context: RequestContext,
): JsonObject {
  if (serviceTier?.tier === "priority") return { service_tier: "priority" };
  loseGiven(context, [[
    "serviceTier",
    serviceTier?.tier === "flex" ? serviceTier : undefined,
  ]]);
  return {};
}

/** A longer id becomes its hash: the upstream needs to tell users apart, not to know them. */
function shortId(id: string): string {
  if (id.length <= MAX_ID_LENGTH) return id;
  return createHash("sha256").update(id).digest("hex");
}
