import { isJsonObject } from "../../../core/json.ts";
import type { Block } from "./block.ts";
import type { Loss } from "../request/loss.ts";
import type { Turn } from "../request/request.ts";

/**
 * Reports the wish to have the places of documents named that back the answer, to a protocol without it.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseCitations(
  turns: readonly Turn[],
  losses: { lose(loss: Loss): void },
): void {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const inner = blocks.flatMap((block) =>
    block.kind === "tool_result" ? block.content : []
  );
  if (![...blocks, ...inner].some(isCited)) return;
  losses.lose({
    field: { extra: "citations" },
    weight: "hint",
    reason: "this model's provider names no places of documents",
  });
}

function isCited(block: Block): boolean {
  if (block.kind === "file") return block.isCited === true;
  if (block.kind !== "opaque" || !isJsonObject(block.value)) return false;
  const { citations } = block.value;
  return isJsonObject(citations) && citations.enabled === true;
}
