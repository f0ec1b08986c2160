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
 * The fields of an object that are to be kept, whatever they are called: `__proto__` too. Most objects keep few or
 * none, and so no list of all values is made.
 */
export function pickFields(
  object: JsonObject,
  isKept: (name: string, value: JsonValue | undefined) => boolean,
): JsonObject {
  const names = Object.keys(object).filter((name) =>
    isKept(name, object[name])
  );
  return Object.fromEntries(names.map((name) => [name, object[name]]));
}

/** The fields of an object that have a value. */
export function present(object: JsonObject): JsonObject {
  return pickFields(object, (_name, value) => value !== undefined);
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
