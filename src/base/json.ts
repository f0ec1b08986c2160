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

/** Returns true when `value` is a JSON object, which excludes null and arrays. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns `value` if it is an object, else an empty object. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns `value` if it is a list, else an empty list. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the objects of a list; none when `value` is no list. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return listOf(value).filter(isJsonObject);
}

/** Returns `value` if it is a non-empty string. */
export function nonEmptyText(
  value: JsonValue | undefined,
): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * Returns a new object with the fields that `isKept` accepts, including a field named `__proto__`. Lists names rather
 * than entries, because most callers keep few fields or none.
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

/** Returns a copy of an object without the fields that are `undefined`. */
export function present(object: JsonObject): JsonObject {
  return pickFields(object, (_name, value) => value !== undefined);
}

/**
 * The most elements and members that a text may have if it is parsed while other requests wait. Such a text parses
 * within 50 ms. A text of at most this many characters cannot have more elements and members.
 */
const MAX_VALUES = 64 * 1024;

const [QUOTE, BACKSLASH, LINE_FEED] = [0x22, 0x5c, 0x0a];

const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

const [BRACKET_END, BRACE_END] = [0x5d, 0x7d];

/**
 * Returns true when parsing a JSON text would block the event loop for long. Counts elements, members and lines. Lines
 * count because a text may hold one value per line. Strings take hardly any time, even long ones.
 *
 * @param maxValues The largest number of values that is not heavy. Pass a smaller number than the default when handling
 * a value costs more than parsing it.
 */
export function isHeavyJson(text: string, maxValues = MAX_VALUES): boolean {
  return text.length > maxValues && exceeds(text, maxValues, Infinity);
}

/**
 * Returns true when a JSON text has more than `maxDepth` nested levels. A parser needs ten times as long for a level as
 * for a value.
 */
export function isDeepJson(text: string, maxDepth: number): boolean {
  return text.length > maxDepth && exceeds(text, Infinity, maxDepth);
}

function exceeds(text: string, maxValues: number, maxDepth: number): boolean {
  let values = 0;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) {
      const end = text.indexOf('"', at + 1);
      if (end === -1) return false;
      // indexOf() is ten times as fast as this loop, except when it stops at each escaped quote.
      if (text.charCodeAt(end - 1) === BACKSLASH) isInString = true;
      else at = end;
    } else if (
      code === COMMA || code === BRACKET || code === BRACE || code === LINE_FEED
    ) {
      values++;
      if (code === BRACKET || code === BRACE) depth++;
      if (values > maxValues || depth > maxDepth) return true;
    } else if (code === BRACKET_END || code === BRACE_END) {
      depth--;
    }
  }
  return false;
}

/**
 * Parses JSON from another program while other requests wait.
 *
 * @returns `undefined` when `text` is not JSON, or when {@linkcode isHeavyJson} is true for it.
 */
export function parseLightJson(text: string): JsonValue | undefined {
  return isHeavyJson(text) ? undefined : parseJson(text);
}

/**
 * Parses `text` as JSON.
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

/** Returns JSON that stays on one line and cannot control a terminal. */
export function oneLine(value: unknown): string {
  return JSON.stringify(value).replace(
    UNESCAPED_REGEXP,
    (found) =>
      found.split("").map((unit) =>
        `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
      ).join(""),
  );
}

/**
 * Matches characters that JSON leaves unescaped, although they end lines, control a terminal, are invisible or reverse
 * text.
 */
const UNESCAPED_REGEXP = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
