import type { Ask } from "./ask/ask.ts";
import type { Block, Script } from "./script.ts";
import { blockTokens, UNITS_PER_TOKEN } from "./usage.ts";

type Cut = Pick<Script, "blocks" | "stop" | "stopSequence">;

/**
 * Ends an answer where the request says: at the first stop sequence of its text, which is left out, and
 * at its token limit, whichever comes first. A tool call that does not fit is left out as a whole.
 */
export function cut(
  blocks: readonly Block[],
  limits: Pick<Ask, "maxOutputTokens" | "stopSequences">,
): Cut {
  const atSequence = cutAtSequence(blocks, limits.stopSequences);
  const { maxOutputTokens } = limits;
  return maxOutputTokens === undefined
    ? atSequence
    : cutAtLength(atSequence, maxOutputTokens);
}

function cutAtSequence(
  blocks: readonly Block[],
  sequences: readonly string[],
): Cut {
  const kept: Block[] = [];
  for (const block of blocks) {
    const hit = block.kind === "text"
      ? firstHit(block.text, sequences)
      : undefined;
    if (hit === undefined) {
      kept.push(block);
      continue;
    }
    if (hit.before !== "") kept.push({ kind: "text", text: hit.before });
    return { blocks: kept, stop: "sequence", stopSequence: hit.sequence };
  }
  const isCalling = kept.some((block) => block.kind === "call");
  return {
    blocks: kept,
    stop: isCalling ? "call" : "end",
    stopSequence: undefined,
  };
}

function firstHit(
  text: string,
  sequences: readonly string[],
): { before: string; sequence: string } | undefined {
  const hits = sequences
    .map((sequence) => ({ index: text.indexOf(sequence), sequence }))
    .filter((hit) => hit.sequence !== "" && hit.index >= 0)
    .sort((one, other) => one.index - other.index);
  const [first] = hits;
  return first === undefined
    ? undefined
    : { before: text.slice(0, first.index), sequence: first.sequence };
}

function cutAtLength(whole: Cut, maxTokens: number): Cut {
  const kept: Block[] = [];
  let left = maxTokens;
  for (const block of whole.blocks) {
    const tokens = blockTokens(block);
    if (tokens > left) {
      return {
        blocks: [...kept, ...headOf(block, left)],
        stop: "length",
        stopSequence: undefined,
      };
    }
    kept.push(block);
    left -= tokens;
  }
  return whole;
}

/** The part of `block` that fits in `tokens`; nothing of a call, whose input must stay whole. */
function headOf(block: Block, tokens: number): Block[] {
  if (block.kind === "call" || tokens === 0) return [];
  const text = block.text.slice(0, tokens * UNITS_PER_TOKEN)
    .replace(/[\uD800-\uDBFF]$/, "");
  return [{ ...block, text }];
}
