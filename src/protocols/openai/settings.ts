import { type JsonObject, type JsonValue, present } from "../../core/json.ts";
import type { Protocol } from "../../core/protocol.ts";
import type { TakenSettings } from "../canonical/request/loss.ts";
import { invalidField } from "../canonical/request/invalid_request.ts";
import type {
  CanonicalRequest,
  OutputFormat,
} from "../canonical/request/request.ts";

/** The OpenAI settings that both of its protocols spell alike. */
type SharedSettings = Pick<
  CanonicalRequest,
  "cacheOptions" | "cacheRetention" | "safetyIdentifier"
>;

/** The names of the shared settings in both OpenAI protocols. Their codecs keep these fields out of the extras. */
export const SHARED_NAMES = {
  cacheOptions: "prompt_cache_options",
  cacheRetention: "prompt_cache_retention",
  safetyIdentifier: "safety_identifier",
} as const satisfies Record<keyof SharedSettings, string>;

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

/**
 * Returns the shared settings that a request to `protocol` holds.
 *
 * @param dialect The settings that the target accepts. Settings from a request in the same protocol go to every target.
 */
export function takenShared(
  request: CanonicalRequest,
  protocol: Protocol,
  dialect: Required<Pick<TakenSettings, keyof SharedSettings>>,
): Required<Pick<TakenSettings, keyof SharedSettings>> {
  const isTaken = (field: keyof SharedSettings) =>
    dialect[field] || request[field]?.protocol === protocol;
  return {
    cacheOptions: isTaken("cacheOptions"),
    cacheRetention: isTaken("cacheRetention"),
    safetyIdentifier: isTaken("safetyIdentifier"),
  };
}

/** Returns the shared settings that the request holds. */
export function encodeShared(
  request: CanonicalRequest,
  taken: TakenSettings,
): JsonObject {
  return present({
    [SHARED_NAMES.cacheOptions]: taken.cacheOptions
      ? request.cacheOptions?.value
      : undefined,
    [SHARED_NAMES.cacheRetention]: taken.cacheRetention
      ? request.cacheRetention?.value
      : undefined,
    [SHARED_NAMES.safetyIdentifier]: taken.safetyIdentifier
      ? request.safetyIdentifier?.value
      : undefined,
  });
}

/** The fields of a schema in OpenAI's spelling. */
interface WireSchema {
  readonly schema?: JsonObject | null | undefined;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly strict?: boolean | null | undefined;
}

/**
 * Parses an output format, whose words are the same in both OpenAI protocols.
 *
 * @param type The `type` of the format.
 * @param wire The schema of the format.
 * @param field The path of the format in the request.
 * @throws {GatewayError} `invalid_request`, for an unknown type.
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
