import type { Answer } from "./answer.ts";
import type { Block, MessageHead, ReasoningBlock, TextBlock } from "./block.ts";
import { isToolCall } from "../request/history.ts";
import { PARAGRAPH } from "./paragraphs.ts";
import type { Turn } from "../request/request.ts";
import type { Sealed } from "./sealed.ts";

/**
 * The reasoning behind an answer's tool calls. Upstreams want its sealed parts back with the results, and some
 * callers' protocols cannot carry them, so the gateway remembers them by the ids of the calls.
 */
export interface Thoughts {
  /** The calls that the reasoning led to; at least one. */
  readonly callIds: readonly string[];
  /** All reasoning of the answer in order, where a block of it is sealed; else none. */
  readonly blocks: readonly ReasoningBlock[];
  /** What came sealed with a call itself, by the call's id: of parallel calls often the first alone has something. */
  readonly calls: ReadonlyMap<string, Sealed>;
  /** What the answer contains, message by message, where the upstream tells of what phase they are; else none. */
  readonly messages: readonly MessageMark[];
}

/** A message of an answer. */
export interface MessageMark {
  /** Of its text, in UTF-16 code units. */
  readonly length: number;
  readonly message: MessageHead;
}

/** What of an answer must be remembered; nothing without a call or without a sealed part. */
export function thoughtsOf(
  { blocks }: Pick<Answer, "blocks">,
): Thoughts | undefined {
  const calls = blocks.filter(isToolCall);
  const reasoning = blocks.filter((block) => block.kind === "reasoning");
  const sealedCalls = new Map<string, Sealed>();
  for (const { id, sealed } of calls) {
    if (sealed !== undefined) sealedCalls.set(id, sealed);
  }
  const isSealedThought = reasoning.some(isSealed);
  const messages = messagesIn(blocks);
  if (calls.length === 0) return undefined;
  if (!isSealedThought && sealedCalls.size === 0 && messages.length === 0) {
    return undefined;
  }
  return {
    callIds: calls.map(({ id }) => id),
    blocks: isSealedThought ? reasoning : [],
    calls: sealedCalls,
    messages,
  };
}

function messagesIn(blocks: Answer["blocks"]): MessageMark[] {
  const messages: MessageMark[] = [];
  for (const block of blocks) {
    if (block.kind !== "text") continue;
    const last = messages.at(-1);
    if (block.message !== undefined || last === undefined) {
      messages.push({
        length: block.text.length,
        message: block.message ?? {},
      });
    } else {
      messages[messages.length - 1] = {
        ...last,
        length: last.length + block.text.length,
      };
    }
  }
  return messages.some(({ message }) => message.phase !== undefined)
    ? messages
    : [];
}

/**
 * Puts remembered reasoning back where the caller gave none of it: at the beginning of each assistant turn with calls,
 * and on the calls; and tells its messages apart again, which a caller gives as one text. What the caller gave with a
 * sealed part of its own stands; readable text without one is replaced.
 *
 * @param recall What is remembered for a call; the first call of a turn that has any reasoning counts.
 */
export function recallThoughts(
  turns: readonly Turn[],
  recall: (callId: string) => Thoughts | undefined,
): readonly Turn[] {
  return turns.map((turn) => {
    if (turn.role !== "assistant") return turn;
    const steps = [recallSeals, recallMessages, recallReasoning];
    return steps.reduce((recalled, step) => step(recalled, recall), turn);
  });
}

type Recall = Parameters<typeof recallThoughts>[1];

function recallSeals(turn: Turn, recall: Recall): Turn {
  let hasRecalled = false;
  const blocks = turn.blocks.map((block): Block => {
    if (!isToolCall(block) || block.sealed !== undefined) return block;
    const sealed = recall(block.id)?.calls.get(block.id);
    if (sealed === undefined) return block;
    hasRecalled = true;
    return { ...block, sealed };
  });
  return hasRecalled ? { ...turn, blocks } : turn;
}

function recallMessages(turn: Turn, recall: Recall): Turn {
  const [text, ...more] = turn.blocks.filter(({ kind }) => kind === "text");
  if (text?.kind !== "text" || more.length > 0) return turn;
  if (text.message !== undefined) return turn;
  const messages = turn.blocks.filter(isToolCall)
    .map(({ id }) => recall(id)?.messages ?? [])
    .find((one) => one.length > 0);
  const parts = messages === undefined ? [] : partsOf(text, messages);
  if (parts.length === 0) return turn;
  const blocks = turn.blocks.flatMap((block) =>
    block === text ? parts : [block]
  );
  return { ...turn, blocks };
}

/** The messages that were joined as paragraphs; none where the text is another one. */
function partsOf(
  text: TextBlock,
  messages: readonly MessageMark[],
): TextBlock[] {
  const parts: TextBlock[] = [];
  let from = 0;
  for (const { length, message } of messages) {
    if (from > 0 && !text.text.startsWith(PARAGRAPH, from)) return [];
    if (from > 0) from += PARAGRAPH.length;
    const piece = text.text.slice(from, from + length);
    parts.push({ ...text, text: piece, message });
    from += length;
  }
  return from === text.text.length ? parts : [];
}

function recallReasoning(turn: Turn, recall: Recall): Turn {
  if (turn.blocks.some(isSealed)) return turn;
  const remembered = turn.blocks.filter(isToolCall)
    .map(({ id }) => recall(id)?.blocks ?? [])
    .find((blocks) => blocks.length > 0);
  if (remembered === undefined) return turn;
  const others = turn.blocks.filter(({ kind }) => kind !== "reasoning");
  return { ...turn, blocks: [...remembered, ...others] };
}

function isSealed(block: Block): boolean {
  return block.kind === "reasoning" && block.sealed !== undefined;
}
