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
 * The reasoning behind an answer's tool calls. Upstreams want its sealed parts back with the results, and some
 * callers' protocols cannot carry them, so the gateway remembers them by the ids of the calls.
 */
export interface RememberedReasoning {
  /** The answer in order, without its words; at least one call. */
  readonly pieces: readonly Piece[];
}

/** A block of an answer, as far as it must be remembered. */
export type Piece = ReasoningBlock | TextPiece | CallPiece;

/** A text. */
export interface TextPiece {
  readonly kind: "text";
  /** In UTF-16 code units. */
  readonly length: number;
  readonly message?: MessageHead | undefined;
}

/** A call, and what came sealed with it: of parallel calls often the first alone has something. */
export interface CallPiece {
  readonly kind: "call";
  readonly id: string;
  readonly sealed?: Sealed | undefined;
}

/** Returns the ids of an answer's calls. */
export function callIdsOf({ pieces }: RememberedReasoning): readonly string[] {
  return pieces.filter(isCall).map(({ id }) => id);
}

/** Returns what of an answer must be remembered; `undefined` without a call, or with nothing to put back. */
export function thoughtsOf(
  pieces: readonly Piece[],
): RememberedReasoning | undefined {
  const hasSomething = pieces.some((piece) =>
    piece.kind === "text"
      ? piece.message?.phase !== undefined
      : piece.sealed !== undefined
  );
  return hasSomething && pieces.some(isCall) ? { pieces } : undefined;
}

/** How remembered reasoning is put back. */
export interface RecallOptions {
  /** Returns what is remembered for a call; the first call of a turn that has any reasoning counts. */
  recall(callId: string): RememberedReasoning | undefined;
  /** Whether the upstream may have a sealed part. */
  maySend(sealed: Sealed): boolean;
}

/**
 * Puts remembered reasoning back into each assistant turn with calls: where it stood, or at the beginning of a turn
 * that is not as it was answered; and sealed parts on the calls. Tells the messages of a turn apart again, which a
 * caller gives as one text. What the caller gave with a sealed part that is not remembered stands; anything else of its
 * reasoning is replaced.
 */
export function recallThoughts(
  turns: readonly Turn[],
  options: RecallOptions,
): readonly Turn[] {
  return turns.map((turn) => {
    if (turn.role !== "assistant") return turn;
    const steps = [recallSeals, recallMessages, recallReasoning];
    return steps.reduce((recalled, step) => step(recalled, options), turn);
  });
}

function recallSeals(turn: Turn, { recall, maySend }: RecallOptions): Turn {
  let hasRecalled = false;
  const blocks = turn.blocks.map((block): Block => {
    if (!isToolCall(block) || block.sealed !== undefined) return block;
    const sealed = recall(block.id)?.pieces.filter(isCall)
      .find(({ id }) => id === block.id)?.sealed;
    if (sealed === undefined || !maySend(sealed)) return block;
    hasRecalled = true;
    return { ...block, sealed };
  });
  return hasRecalled ? { ...turn, blocks } : turn;
}

/** A message of an answer, which may have several texts. */
interface Message {
  readonly length: number;
  readonly message: MessageHead;
}

function recallMessages(turn: Turn, { recall }: RecallOptions): Turn {
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

/** The messages of an answer where the upstream says of what phase they are; else none. */
function messagesIn(pieces: readonly Piece[]): Message[] {
  const messages: Message[] = [];
  for (const { length, message } of pieces.filter(isText)) {
    const last = messages.at(-1);
    if (message !== undefined || last === undefined) {
      messages.push({ length, message: message ?? {} });
    } else {
      messages[messages.length - 1] = {
        ...last,
        length: last.length + length,
      };
    }
  }
  return messages.some(({ message }) => message.phase !== undefined)
    ? messages
    : [];
}

/** The messages that were joined as paragraphs; none where the text is another one. */
function partsOf(
  text: TextBlock,
  messages: readonly Message[],
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

function recallReasoning(
  turn: Turn,
  { recall, maySend }: RecallOptions,
): Turn {
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

/** Whether all that the caller gave back sealed is among what is remembered: of several parts it may have one left. */
function holds(pieces: readonly Piece[], blocks: readonly Block[]): boolean {
  const known = new Set(
    pieces.filter(isReasoning).map(({ sealed }) => sealed?.value),
  );
  return blocks.filter(isReasoning).every(({ sealed }) =>
    sealed === undefined || known.has(sealed.value)
  );
}

/** The answer as it was, of the turn's own blocks and the reasoning; `undefined` where they do not correspond. */
function interleaved(
  pieces: readonly Piece[],
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

/** Whether a caller is shown a piece as a text apart from the one before it. */
function isNewText(piece: Piece, before: Piece | undefined): boolean {
  return piece.kind === "text" &&
    (before?.kind !== "text" || piece.message !== undefined);
}

function isCall(piece: Piece): piece is CallPiece {
  return piece.kind === "call";
}

function isText(piece: Piece): piece is TextPiece {
  return piece.kind === "text";
}

function isReasoning(
  block: { readonly kind: string },
): block is ReasoningBlock {
  return block.kind === "reasoning";
}

function isSealed(piece: Piece): boolean {
  return isReasoning(piece) && piece.sealed !== undefined;
}
