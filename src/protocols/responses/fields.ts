import type { JsonObject, JsonValue } from "../../core/json.ts";

/** The fields of `item` that none of `known` names; `undefined` when nothing is left. */
export function otherFields(
  item: JsonObject,
  known: readonly string[],
): JsonObject | undefined {
  const rest = Object.entries(item).filter(([name, value]) =>
    !known.includes(name) && value !== undefined
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** The value when it is text, maybe empty. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The fields that have a value. */
export function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  );
}
