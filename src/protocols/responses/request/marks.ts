import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { MessageHead } from "../../canonical/answer/block.ts";
import type { Marks } from "../../canonical/request/extras.ts";

/** The fields of `item` that none of `known` names; `undefined` when nothing is left. */
export function restOf(
  item: JsonObject,
  known: readonly string[],
): JsonObject | undefined {
  const rest = Object.entries(item).filter(([name, value]) =>
    !known.includes(name) && value !== undefined
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** Facts for this codec's own encoder; `undefined` when there are none. */
export function markOwn(facts: JsonObject | undefined): Marks | undefined {
  return facts === undefined ? undefined : { responses: facts };
}

/** What {@linkcode markOwn} noted; empty when it noted nothing. */
export function ownMarks(
  holder: { readonly marks?: Marks | undefined },
): JsonObject {
  return holder.marks?.responses ?? {};
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

/**
 * What a message item says of itself to other protocols.
 *
 * @param isFirst Whether nothing came before it from which it could stand apart.
 */
export function messageHead(
  { phase }: JsonObject,
  isFirst: boolean,
): MessageHead | undefined {
  if (typeof phase === "string") return { phase };
  return isFirst ? undefined : {};
}
