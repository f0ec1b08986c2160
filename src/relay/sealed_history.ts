import type { Block, ReasoningBlock } from "../protocols/canonical/block.ts";
import { isToolCall } from "../protocols/canonical/history.ts";
import type { CanonicalRequest, Turn } from "../protocols/canonical/request.ts";
import type { SealStore } from "./seal_store.ts";

/**
 * Puts kept reasoning back before the tool calls that it led to, in every turn whose caller could not carry
 * it. Each sealed part names its issuer, so that the encoder for another connection leaves it out and
 * reports that.
 */
export function recallReasoning(
  request: CanonicalRequest,
  { seals, callerSha256 }: {
    readonly seals: SealStore;
    readonly callerSha256: string;
  },
): CanonicalRequest {
  const recall = (callId: string) => seals.recall({ callerSha256, callId });
  return {
    ...request,
    turns: request.turns.map((turn) => withReasoning(turn, recall)),
  };
}

function withReasoning(
  turn: Turn,
  recall: (callId: string) => ReturnType<SealStore["recall"]>,
): Turn {
  if (turn.role !== "assistant" || turn.blocks.some(isSealed)) return turn;
  const call = turn.blocks.find(isToolCall);
  const kept = call === undefined ? undefined : recall(call.id);
  if (kept === undefined) return turn;
  const reasoning = kept.blocks.map((block): ReasoningBlock => ({
    ...block,
    sealed: block.sealed && { ...block.sealed, origin: kept.connectionId },
  }));
  const rest = turn.blocks.filter(({ kind }) => kind !== "reasoning");
  return { ...turn, blocks: [...reasoning, ...rest] };
}

function isSealed(block: Block): boolean {
  return block.kind === "reasoning" && block.sealed !== undefined;
}
