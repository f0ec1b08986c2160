import type { Ask, Turn } from "./ask/ask.ts";
import type { Block, Usage } from "./script.ts";

/** The demo's stand-in for a tokeniser: every four UTF-16 units, rounded up, are one token. */
export const UNITS_PER_TOKEN = 4;

/** What an image or a file counts, whatever its size. */
const TOKENS_PER_ATTACHMENT = 256;

/** What the frame of a turn counts, beside its text. */
const TOKENS_PER_TURN = 3;

/** The tokens of `text`; 0 for the empty string. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / UNITS_PER_TOKEN);
}

/** The tokens that a request costs to read: turns, attachments and declared tools. */
export function inputTokens(ask: Ask): number {
  const tools = ask.tools.map((tool) =>
    estimateTokens(
      tool.name + tool.description + JSON.stringify(tool.schema),
    )
  );
  return sum(ask.turns.map(turnTokens)) + sum(tools);
}

/**
 * The tokens of one exchange, from the real lengths. What stands before the last assistant turn was sent
 * before, so it counts as read from the provider's cache.
 */
export function measure(ask: Ask, blocks: readonly Block[]): Usage {
  const last = ask.turns.findLastIndex((turn) => turn.role === "assistant");
  const reasoning = blocks.filter((block) => block.kind === "reasoning");
  return {
    inputTokens: inputTokens(ask),
    cachedTokens: sum(ask.turns.slice(0, Math.max(last, 0)).map(turnTokens)),
    outputTokens: sum(blocks.map(blockTokens)),
    reasoningTokens: sum(reasoning.map(blockTokens)),
  };
}

/** The tokens of one piece of an answer. */
export function blockTokens(block: Block): number {
  return block.kind === "call"
    ? estimateTokens(block.tool.name + block.input)
    : estimateTokens(block.text);
}

function turnTokens(turn: Turn): number {
  const names = turn.calls.map((call) => estimateTokens(call.name));
  return TOKENS_PER_TURN + sum(turn.texts.map(estimateTokens)) + sum(names) +
    turn.attachmentCount * TOKENS_PER_ATTACHMENT;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
