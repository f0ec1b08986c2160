import {
  type Block,
  isToolCall,
  type MessageHead,
  type ReasoningBlock,
  type TextBlock,
} from "../content/block.ts";
import { PARAGRAPH } from "./readable.ts";
import type { Turn } from "../request/request.ts";
import type { Sealed } from "../content/sealed.ts";

/**
 * The reasoning before an answer's tool calls. When the caller sends the results of the calls, upstreams require the
 * sealed parts of this reasoning. But some callers' protocols have no field for sealed parts. So the gateway stores the
 * reasoning by the ids of the calls.
 */
export interface RememberedReasoning {
  /** The parts of the answer in order, with at least one call. Text blocks have only the length of their text. */
  readonly pieces: readonly RememberedBlock[];
}

/** The stored form of a block of an answer. */
type RememberedBlock = ReasoningBlock | RememberedText | RememberedCall;

/** The length of a text. */
interface RememberedText {
  readonly kind: "text";
  /** The length in UTF-16 code units. */
  readonly length: number;
  readonly message?: MessageHead | undefined;
}

/** A call with its sealed part. Of parallel calls, often only the first call has a sealed part. */
export interface RememberedCall {
  readonly kind: "call";
  readonly id: string;
  readonly sealed?: Sealed | undefined;
}

/** Returns the part of an answer to store; `undefined` if the answer has no call or nothing to restore later. */
export function reasoningToRemember(
  pieces: readonly RememberedBlock[],
): RememberedReasoning | undefined {
  const isRestorable = pieces.some((piece) =>
    piece.kind === "text"
      ? piece.message?.phase !== undefined
      : piece.sealed !== undefined
  );
  return isRestorable && pieces.some(isCall) ? { pieces } : undefined;
}

interface RecallOptions {
  /** Returns the stored reasoning of a call. In a turn with several calls, the first call with reasoning counts. */
  recall(callId: string): RememberedReasoning | undefined;
  /** Returns true when a sealed part may go to the upstream. */
  maySend(sealed: Sealed): boolean;
}

/**
 * Restores stored reasoning in each assistant turn with calls. The reasoning gets its original place, or the beginning
 * of the turn if the turn differs from the stored answer. The function also restores the sealed parts of calls, and
 * splits a text that the caller joined from several messages.
 *
 * The caller's own reasoning is replaced, unless the turn has a sealed part that is not stored.
 */
export function restoreReasoning(
  turns: readonly Turn[],
  options: RecallOptions,
): readonly Turn[] {
  return turns.map((turn) => {
    if (turn.role !== "assistant") return turn;
    const steps = [restoreSeals, restoreMessages, restoreBlocks];
    return steps.reduce((restored, step) => step(restored, options), turn);
  });
}

function restoreSeals(turn: Turn, { recall, maySend }: RecallOptions): Turn {
  let hasRestored = false;
  const blocks = turn.blocks.map((block): Block => {
    if (!isToolCall(block) || block.sealed !== undefined) return block;
    const sealed = recall(block.id)?.pieces.filter(isCall)
      .find(({ id }) => id === block.id)?.sealed;
    if (sealed === undefined || !maySend(sealed)) return block;
    hasRestored = true;
    return { ...block, sealed };
  });
  return hasRestored ? { ...turn, blocks } : turn;
}

/** A message of an answer. The message may have several texts. */
interface Message {
  readonly length: number;
  readonly message: MessageHead;
}

function restoreMessages(turn: Turn, { recall }: RecallOptions): Turn {
  const [text, ...more] = turn.blocks.filter(({ kind }) => kind === "text");
  if (text?.kind !== "text" || more.length > 0) return turn;
  if (text.message !== undefined) return turn;
  const messages = turn.blocks.filter(isToolCall)
    .map(({ id }) => messagesIn(recall(id)?.pieces ?? []))
    .find((one) => one.length > 0);
  const parts = messages === undefined ? [] : partsOf(text, messages);
  if (parts.length === 0) return turn;
  const blocks = turn.blocks.flatMap((block) =>
    block === text ? parts : [block]
  );
  return { ...turn, blocks };
}

/** Returns the messages of an answer, or an empty list if the upstream stated no phase for any message. */
function messagesIn(pieces: readonly RememberedBlock[]): Message[] {
  const messages: Message[] = [];
  for (const { length, message } of pieces.filter(isText)) {
    const last = messages.at(-1);
    if (message !== undefined || last === undefined) {
      messages.push({ length, message: message ?? {} });
    } else {
      messages[messages.length - 1] = { ...last, length: last.length + length };
    }
  }
  return messages.some(({ message }) => message.phase !== undefined)
    ? messages
    : [];
}

/** Splits a text into the messages that were joined to it. Returns an empty list if the lengths do not match. */
function partsOf(text: TextBlock, messages: readonly Message[]): TextBlock[] {
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

function restoreBlocks(turn: Turn, { recall, maySend }: RecallOptions): Turn {
  const pieces = turn.blocks.filter(isToolCall)
    .map(({ id }) => recall(id)?.pieces ?? [])
    .find((pieces) => pieces.some(isSealed));
  if (pieces === undefined || !holds(pieces, turn.blocks)) return turn;
  const others = turn.blocks.filter(({ kind }) => kind !== "reasoning");
  const blocks = interleaved(pieces, others) ??
    [...pieces.filter(isReasoning), ...others];
  return {
    ...turn,
    blocks: blocks.map((block) =>
      block.kind === "reasoning" && block.sealed && !maySend(block.sealed)
        ? { ...block, sealed: undefined }
        : block
    ),
  };
}

/**
 * Returns true when all sealed parts in the caller's turn are stored. The turn may lack some of the stored parts.
 */
function holds(
  pieces: readonly RememberedBlock[],
  blocks: readonly Block[],
): boolean {
  const known = new Set(
    pieces.filter(isReasoning).map(({ sealed }) => sealed?.value),
  );
  return blocks.filter(isReasoning).every(({ sealed }) =>
    sealed === undefined || known.has(sealed.value)
  );
}

/**
 * Returns a turn's blocks with the stored reasoning at its original place; `undefined` if the blocks differ from the
 * stored answer.
 */
function interleaved(
  pieces: readonly RememberedBlock[],
  blocks: readonly Block[],
): readonly Block[] | undefined {
  const texts = blocks.filter(({ kind }) => kind === "text");
  const calls = blocks.filter(isToolCall);
  if (texts.length + calls.length < blocks.length) return undefined;
  const ids = calls.map(({ id }) => id);
  if (ids.join("\n") !== pieces.filter(isCall).map(({ id }) => id).join("\n")) {
    return undefined;
  }
  const isFirst = pieces.map((piece, index) =>
    isNewText(piece, pieces[index - 1])
  );
  if (isFirst.filter(Boolean).length !== texts.length) return undefined;
  return pieces.flatMap((piece, index): (Block | undefined)[] => {
    if (piece.kind === "reasoning") return [piece];
    if (piece.kind === "call") return [calls.shift()];
    return isFirst[index] ? [texts.shift()] : [];
  }).filter((block) => block !== undefined);
}

/** Returns true when the caller sees a piece and the piece before it as separate texts. */
function isNewText(
  piece: RememberedBlock,
  before: RememberedBlock | undefined,
): boolean {
  return piece.kind === "text" &&
    (before?.kind !== "text" || piece.message !== undefined);
}

function isCall(piece: RememberedBlock): piece is RememberedCall {
  return piece.kind === "call";
}

function isText(piece: RememberedBlock): piece is RememberedText {
  return piece.kind === "text";
}

function isReasoning(
  block: { readonly kind: string },
): block is ReasoningBlock {
  return block.kind === "reasoning";
}

function isSealed(piece: RememberedBlock): boolean {
  return isReasoning(piece) && piece.sealed !== undefined;
}
