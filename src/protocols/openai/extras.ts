import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { Protocol } from "../../core/protocol.ts";
import type { CanonicalRequest } from "../canonical/request/request.ts";

/** Settings of OpenAI's own that both of its protocols spell alike. */
const SHARED_FIELDS = [
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
] as const;

/** One of {@linkcode SHARED_FIELDS}. */
export type SharedField = typeof SHARED_FIELDS[number];

/** Which of OpenAI's settings a target takes. */
export type SharedFields = Readonly<Record<SharedField, boolean>>;

/** The settings that came in the words of OpenAI's other protocol, as far as the target takes them. */
export function sharedExtras(
  { extras }: CanonicalRequest,
  protocol: Extract<Protocol, "chat" | "responses">,
  taken: SharedFields,
): JsonObject {
  const others = extras[protocol === "chat" ? "responses" : "chat"] ?? {};
  const found: [SharedField, JsonValue | undefined][] = SHARED_FIELDS
    .filter((field) => taken[field])
    .map((field) => [field, others[field]?.value]);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}
