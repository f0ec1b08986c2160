/** Any value that JSON can hold. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | JsonValue[]
  | JsonObject;

/** A JSON object; a key that is absent reads as `undefined`. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

/** Whether `value` is an object of JSON: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads `text` as JSON.
 *
 * @returns The value, or `undefined` when `text` is not JSON; JSON itself has no `undefined`.
 */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
