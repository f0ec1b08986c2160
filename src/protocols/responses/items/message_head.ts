import type { JsonObject } from "../../../core/json.ts";
import type { MessageHead } from "../../canonical/answer/block.ts";

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
