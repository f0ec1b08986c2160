import { isJsonObject } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import type { LossReport } from "../request/loss.ts";
import type { Turn } from "../request/request.ts";
import type { Block, ResultContent } from "../content/block.ts";

/** Replaces opaque blocks of other protocols with their `content`, if they have any. */
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
 * Reports requested citations of documents as dropped, for a protocol without them. Throws when the connection is
 * strict.
 */
export function dropCitations(
  turns: readonly Turn[],
  losses: LossReport,
): void {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const inner = blocks.flatMap((block) =>
    block.kind === "tool_result" ? block.content : []
  );
  if (![...blocks, ...inner].some(isCited)) return;
  losses.reportDropped(
    { extra: "citations" },
    "this model's provider does not cite documents",
  );
}

function isCited(block: Block): boolean {
  if (block.kind === "file") return block.isCited === true;
  if (block.kind !== "opaque" || !isJsonObject(block.value)) return false;
  const { citations } = block.value;
  return isJsonObject(citations) && citations.enabled === true;
}

/** The separator of texts that a protocol joins into one. */
export const PARAGRAPH = "\n\n";

/** Joins texts for a protocol that has one text, with a paragraph break where a new part begins. */
export class Paragraphs {
  #hasText = false;
  #isApart = false;

  /** Starts a new part: a paragraph break will precede the next text. */
  part(): void {
    this.#isApart = true;
  }

  /** Returns `text`, which must not be empty, with a paragraph break before it if needed. */
  join(text: string): string {
    const joined = this.#hasText && this.#isApart ? PARAGRAPH + text : text;
    this.#hasText = true;
    this.#isApart = false;
    return joined;
  }
}
