import {
  type JsonObject,
  type JsonValue,
  pickFields,
} from "../../core/json.ts";

/** The fields of `item` that none of `known` names; `undefined` when nothing is left. */
export function otherFields(
  item: JsonObject,
  known: readonly string[],
): JsonObject | undefined {
  const rest = pickFields(
    item,
    (name, value) => !known.includes(name) && value !== undefined,
  );
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** The value when it is text, maybe empty. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
