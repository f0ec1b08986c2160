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

/** Returns `value` if it is a string that is not empty. */
export function nonEmptyText(
  value: JsonValue | undefined,
): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
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
 * How many elements and members a text may have that somebody else waits for: 50 ms, whatever they are. What is as
 * short as this cannot have more.
 */
const MAX_VALUES = 64 * 1024;

const [QUOTE, BACKSLASH, LINE_FEED] = [0x22, 0x5c, 0x0a];

const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/**
 * Whether to parse a JSON text would hold the event loop for long, by how many elements and members it has, and lines,
 * for a text may hold one value a line. Strings take hardly any time, however long they are.
 *
 * @param maxValues How many are not heavy yet; fewer than by default where more is done with each than to parse it.
 */
export function isHeavyJson(text: string, maxValues = MAX_VALUES): boolean {
  if (text.length <= maxValues) return false;
  let values = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) {
      const end = text.indexOf('"', at + 1);
      if (end === -1) return false;
      // To leap is ten times as fast, but not from one escaped quote to the next.
      if (text.charCodeAt(end - 1) === BACKSLASH) isInString = true;
      else at = end;
    } else if (
      code === COMMA || code === BRACKET || code === BRACE || code === LINE_FEED
    ) {
      values++;
      if (values > maxValues) return true;
    }
  }
  return false;
}

/**
 * Reads JSON that somebody else wrote while others wait.
 *
 * @returns `undefined` when `text` is not JSON, too, or {@linkcode isHeavyJson}.
 */
export function parseLightJson(text: string): JsonValue | undefined {
  return isHeavyJson(text) ? undefined : parseJson(text);
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
