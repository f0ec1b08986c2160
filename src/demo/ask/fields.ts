import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";

/** `value` when it is a string, else the empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** `value` when it is an object, else an empty object. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** `value` when it is a list, else an empty list. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of a list; everything else in it is passed over. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return listOf(value).filter(isJsonObject);
}

/** `value` when it is a number, else `undefined`. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
