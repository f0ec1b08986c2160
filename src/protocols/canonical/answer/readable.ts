import type { Protocol } from "../../../core/protocol.ts";
import type { Block, ResultContent } from "./block.ts";
import type { Turn } from "../request/request.ts";

/**
 * Puts the content of blocks that only another protocol than `protocol` knows in their place, where it can be told in
 * common ones.
 */
export function openForeignBlocks(
  turns: readonly Turn[],
  protocol: Protocol,
): readonly Turn[] {
  return turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.flatMap((block) => open(block, protocol)),
  }));
}

function open(block: Block, protocol: Protocol): readonly Block[] {
  if (block.kind !== "tool_result") {
    return contentOf(block, protocol) ?? [block];
  }
  const content = block.content.flatMap((part): readonly ResultContent[] =>
    contentOf(part, protocol) ?? [part]
  );
  return [{ ...block, content }];
}

function contentOf(
  block: Block,
  protocol: Protocol,
): readonly ResultContent[] | undefined {
  return block.kind === "opaque" && block.protocol !== protocol
    ? block.content
    : undefined;
}
