import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";

/** Holds what was no JSON object, so that nothing a model wrote is thrown away. */
const RAW_KEY = "_raw";

/**
 * A call's arguments as an object, for protocols that have no text there. Empty text is no arguments; text
 * that is no JSON object becomes `{"_raw": text}`.
 */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value = parseJson(text);
  return isJsonObject(value) ? value : { [RAW_KEY]: text };
}

/** The reverse of {@linkcode argumentsObject}; keeps the order of keys, which caches depend on. */
export function argumentsText(value: unknown): string {
  if (isJsonObject(value)) {
    const raw = value[RAW_KEY];
    if (typeof raw === "string" && Object.keys(value).length === 1) return raw;
    return JSON.stringify(value);
  }
  return value === undefined || value === null ? "" : JSON.stringify(value);
}
