import { isJsonObject } from "../../../core/json.ts";
import type { Protocol } from "../../../core/protocol.ts";
import type { Loss } from "../request/loss.ts";
import type { Turn } from "../request/request.ts";
import type { Block, ResultContent } from "../content/block.ts";

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

/**
 * Reports the wish to have the places of documents named that back the answer, to a protocol without it.
 *
 * @throws {GatewayError} When the connection is strict.
 */
export function loseCitations(
  turns: readonly Turn[],
  losses: { reportDropped(loss: Loss): void },
): void {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const inner = blocks.flatMap((block) =>
    block.kind === "tool_result" ? block.content : []
  );
  if (![...blocks, ...inner].some(isCited)) return;
  losses.reportDropped({
    field: { extra: "citations" },
    weight: "report",
    reason: "this model's provider names no places of documents",
  });
}

function isCited(block: Block): boolean {
  if (block.kind === "file") return block.isCited === true;
  if (block.kind !== "opaque" || !isJsonObject(block.value)) return false;
  const { citations } = block.value;
  return isJsonObject(citations) && citations.enabled === true;
}

/** Stands between texts that a protocol shows as one though they are apart. */
export const PARAGRAPH = "\n\n";

/** Joins texts that a protocol shows as one: those that stand apart become paragraphs of their own. */
export class Paragraphs {
  #hasText = false;
  #isApart = false;

  /** Told that the next text stands apart from the ones before it. */
  part(): void {
    this.#isApart = true;
  }

  /** `text`, which must not be empty, as it continues what was joined so far. */
  join(text: string): string {
    const joined = this.#hasText && this.#isApart ? PARAGRAPH + text : text;
    this.#hasText = true;
    this.#isApart = false;
    return joined;
  }
}
