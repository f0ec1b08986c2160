import { createHash } from "node:crypto";
import { lookup } from "@gateway/base/collections";
import { type JsonObject, type JsonValue, present } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import { invalidField } from "../canonical/request/invalid_request.ts";
import {
  type CanonicalRequest,
  type OutputFormat,
  type ServiceTier,
  SHARED_FIELD_NAMES,
} from "../canonical/request/request.ts";

/** The settings that Chat Completions and Responses spell alike. */
const SHARED = ["cacheOptions", "cacheRetention", "safetyIdentifier"] as const;

type SharedSettings = Pick<CanonicalRequest, typeof SHARED[number]>;

/** The names of the shared settings in both OpenAI protocols. The codecs keep these fields out of the extras. */
export const SHARED_NAMES: readonly string[] = SHARED
  .map((field) => SHARED_FIELD_NAMES[field]);

/** Reads the shared settings of a body. */
export function decodeShared(
  body: JsonObject,
  protocol: Protocol,
): SharedSettings {
  const rawOf = <Value extends JsonValue>(value: Value | null | undefined) =>
    value === null || value === undefined ? undefined : { protocol, value };
  const { safety_identifier: identifier } = body;
  return {
    cacheOptions: rawOf(body.prompt_cache_options),
    cacheRetention: rawOf(body.prompt_cache_retention),
    safetyIdentifier: typeof identifier === "string"
      ? rawOf(identifier)
      : undefined,
  };
}

/** Returns the fields of the shared settings that the request holds. */
export function encodeShared(request: CanonicalRequest): JsonObject {
  return present(Object.fromEntries(
    SHARED.map((field) => [SHARED_FIELD_NAMES[field], request[field]?.value]),
  ));
}

/** Parses the verbosity at `field`; throws `invalid_request` for an unknown word. */
export function decodeVerbosity(
  word: string | null | undefined,
  field: string,
): CanonicalRequest["verbosity"] {
  if (word === null || word === undefined) return undefined;
  if (word === "low" || word === "medium" || word === "high") return word;
  throw invalidField(field, "must be low, medium or high");
}

const TIER_BY_WORD: Readonly<Record<string, ServiceTier["tier"]>> = {
  auto: "auto",
  default: "standard",
  flex: "flex",
  priority: "priority",
  fast: "priority",
  scale: "priority",
};

/** Reads `service_tier`. */
export function decodeServiceTier(
  value: string | null | undefined,
  protocol: Protocol,
): ServiceTier | undefined {
  if (value === null || value === undefined) return undefined;
  const tier = lookup(TIER_BY_WORD, value) ?? "auto";
  return { tier, raw: { protocol, value } };
}

/** Returns the `service_tier`. */
export function encodeServiceTier(
  { tier, raw }: ServiceTier,
  protocol: Protocol,
): string {
  if (raw.protocol === protocol) return raw.value;
  return tier === "standard" ? "default" : tier;
}

/** The most characters that OpenAI accepts in the id of a user or a cache. */
const MAX_ID_LENGTH = 64;

/** Returns an id, or its hash if the id is too long. Providers need ids only to distinguish users. */
export function shortId(id: string): string {
  return id.length <= MAX_ID_LENGTH
    ? id
    : createHash("sha256").update(id).digest("hex");
}

/** The fields of a schema in OpenAI's spelling. */
interface WireSchema {
  readonly schema?: JsonObject | null | undefined;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly strict?: boolean | null | undefined;
}

/**
 * Parses the output format at `field`. Both protocols spell the format alike. Throws `invalid_request` for an unknown
 * type.
 */
export function decodeOutputFormat(
  type: string | undefined,
  wire: WireSchema,
  { field }: { readonly field: string },
): OutputFormat | undefined {
  switch (type) {
    case undefined:
    case "text":
      return undefined;
    case "json_object":
      return { type: "json" };
    case "json_schema":
      return {
        type: "schema",
        schema: wire.schema ?? {},
        name: wire.name ?? undefined,
        description: wire.description ?? undefined,
        strict: wire.strict ?? undefined,
      };
    default:
      throw invalidField(
        `${field}.type`,
        "must be text, json_object or json_schema",
      );
  }
}
