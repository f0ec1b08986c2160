import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pickFields,
} from "../../../core/json.ts";
import type { ProviderMetadata } from "../../canonical/content/extras.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";

/**
 * A text that a caller must send.
 *
 * @throws {GatewayError} `invalid_request` naming `param`.
 */
export function demandText(
  value: JsonValue | undefined,
  param: string,
): string {
  if (typeof value === "string") return value;
  throw invalidField(
    param,
    value === undefined || value === null ? "is missing" : "is no text",
  );
}

/** The same for an identifier, which must not be empty. */
export function demandName(
  value: JsonValue | undefined,
  param: string,
): string {
  const name = demandText(value, param);
  if (name === "") throw invalidField(param, "is empty");
  return name;
}

/** `value` where it is a text, else `undefined`. */
export function optionalText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The objects of a list; none where `value` is no list. */
export function objectsIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The fields of `object` that are set and not in `known`. */
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

/** The same as marks, from which this codec's encoders write the fields again. */
export function marksOf(
  object: JsonObject,
  known: ReadonlySet<string>,
): ProviderMetadata | undefined {
  const others = otherFields(object, known);
  return Object.keys(others).length === 0 ? undefined : { messages: others };
}
