import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../core/json.ts";

/** Holds what was no JSON object, so that nothing a model wrote is thrown away. */
const RAW_KEY = "_raw";

/** Whether a call's arguments are none: no text, or `null`, which some models write for a function without any. */
export function isNoArguments(text: string): boolean {
  return text.length < 64 && /^\s*(?:null)?\s*$/.test(text);
}

/** A call's arguments as the object that they are, an empty one for none; `undefined` for text that is no object. */
export function parseArguments(text: string): JsonObject | undefined {
  if (isNoArguments(text)) return {};
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/**
 * A call's arguments as an object, for protocols that have no text there; text that is no JSON object becomes
 * `{"_raw": text}`. For histories: in an answer such text never gets that far.
 */
export function argumentsObject(text: string): JsonObject {
  return parseArguments(text) ?? { [RAW_KEY]: text };
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

/** Arguments as they stand in a history, as the text that they are; some clients send the object, or `"null"`. */
export function givenArguments(value: unknown): string {
  if (typeof value !== "string") return argumentsText(value);
  return isNoArguments(value) ? "" : value;
}
