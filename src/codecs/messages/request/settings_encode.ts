import { createHash } from "node:crypto";
import type { JsonObject } from "@gateway/base/json";
import type { ServiceTier } from "../../canonical/request/request.ts";

/** The maximum length of `metadata.user_id`. */
const MAX_USER_LENGTH = 256;

/** Returns the `service_tier`. */
export function encodeServiceTier(tier: ServiceTier | undefined): JsonObject {
  if (tier === undefined) return {};
  const { raw } = tier;
  if (raw.protocol === "messages") return { service_tier: raw.value };
  return { service_tier: tier.tier === "standard" ? "standard_only" : "auto" };
}

/**
 * Returns the user id as metadata. The id is hashed if it is too long or has an `@`. The provider forbids e-mail
 * addresses in this field, and needs the id only to distinguish users.
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
