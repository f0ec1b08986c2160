import type { Answer } from "./answer.ts";
import type { Block, ReasoningBlock } from "./block.ts";
import { isToolCall } from "./history.ts";
import type { Turn } from "./request.ts";

/**
 * The reasoning behind an answer's tool calls. Upstreams want its sealed parts back with the results, and some
 * callers' protocols cannot carry them, so the gateway remembers them by the ids of the calls.
 */
export interface Thoughts {
  /** The calls that the reasoning led to; at least one. */
  readonly callIds: readonly string[];
  /** All reasoning of the answer in order; at least one block is sealed. */
  readonly blocks: readonly ReasoningBlock[];
}

/** What of an answer must be remembered; nothing without a call or without a sealed part. */
export function thoughtsOf(
  { blocks }: Pick<Answer, "blocks">,
): Thoughts | undefined {
  const callIds = blocks.filter(isToolCall).map(({ id }) => id);
  const reasoning = blocks.filter((block) => block.kind === "reasoning");
  if (callIds.length === 0 || !reasoning.some(isSealed)) return undefined;
  return { callIds, blocks: reasoning };
}

/**
 * Puts remembered reasoning back where the caller gave none of it: at the beginning of each assistant turn with
 * calls. What the caller gave with a sealed part of its own stands; readable text without one is replaced.
 *
 * @param recall The blocks remembered for a call; the first call of a turn that has any counts.
 */
export function recallThoughts(
  turns: readonly Turn[],
  recall: (callId: string) => readonly ReasoningBlock[] | undefined,
): readonly Turn[] {
  return turns.map((turn) => {
    if (turn.role !== "assistant" || turn.blocks.some(isSealed)) return turn;
    const remembered = turn.blocks.filter(isToolCall).map(({ id }) =>
      recall(id)
    )
      .find((blocks) => blocks !== undefined);
    if (remembered === undefined) return turn;
    const others = turn.blocks.filter(({ kind }) => kind !== "reasoning");
    return { ...turn, blocks: [...remembered, ...others] };
  });
}

function isSealed(block: Block): boolean {
  return block.kind === "reasoning" && block.sealed !== undefined;
}
