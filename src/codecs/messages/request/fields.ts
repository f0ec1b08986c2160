import {
  type JsonObject,
  type JsonValue,
  pickFields,
} from "@gateway/base/json";
import type { ProviderMetadata } from "../../canonical/content/extras.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";

/** Returns a required text. Throws `invalid_request` with `param` if the value is not a text. */
export function requireText(
  value: JsonValue | undefined,
  param: string,
): string {
  if (typeof value === "string") return value;
  throw invalidField(
    param,
    value === undefined || value === null ? "is missing" : "must be a text",
  );
}

/** Returns a required identifier. Throws `invalid_request` with `param` if the value is not a text or is empty. */
export function requireName(
  value: JsonValue | undefined,
  param: string,
): string {
  const name = requireText(value, param);
  if (name === "") throw invalidField(param, "is empty");
  return name;
}

/** Returns `value` when it is a text, else `undefined`. */
export function optionalText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the fields of `object` that are set and not in `known`. */
export function otherFields(
  object: JsonObject,
  known: ReadonlySet<string>,
): JsonObject {
  return pickFields(
    object,
    (field, value) =>
      !known.has(field) && value !== undefined && value !== null,
  );
}

/**
 * Returns the fields of `object` that are not in `known`, as metadata. The encoders of this codec write these fields
 * again.
 */
export function metadataOf(
  object: JsonObject,
  known: ReadonlySet<string>,
): ProviderMetadata | undefined {
  const others = otherFields(object, known);
  return Object.keys(others).length === 0 ? undefined : { messages: others };
}
