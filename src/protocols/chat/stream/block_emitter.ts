import type { JsonValue } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import type { OpaqueBlock } from "../../canonical/answer/block.ts";
import type { Citation } from "../../canonical/answer/citation.ts";
import {
  type AnswerEvent,
  type BlockHead,
  oversizedEvent,
} from "../../canonical/stream/event.ts";
import { MAX_BLOCKS } from "../../canonical/limits.ts";
import type { Sealed } from "../../canonical/answer/sealed.ts";

/** The kinds of block of which one is open at a time: a chunk does not say which block it continues. */
export type FlatKind = "text" | "reasoning" | "refusal";

/** Finds the borders of blocks, which the protocol does not show, and numbers the blocks. */
export interface BlockEmitter {
  /** Adds text to the open block of the kind, or begins one; ignores what is no text and empty text. */
  emitText(
    kind: FlatKind,
    text: JsonValue | undefined,
    emit: Emit<AnswerEvent>,
  ): void;
  /** Adds a citation to the open text, or begins one. */
  cite(citation: Citation, emit: Emit<AnswerEvent>): void;
  /**
   * Begins a block of its own, after closing the open one; `undefined` when there are too many, which ends the
   * answer with a failure.
   */
  open(head: BlockHead, emit: Emit<AnswerEvent>): number | undefined;
  /** Gives a block that is whole. */
  give(head: OpaqueBlock, emit: Emit<AnswerEvent>): void;
  /** Adds citations of all of the open text; none where no text is open. */
  citeWhole(citations: readonly Citation[], emit: Emit<AnswerEvent>): void;
  /** Gives reasoning that nobody can read. */
  giveSealed(sealed: Sealed, emit: Emit<AnswerEvent>): void;
  /** Closes the open text, reasoning or refusal. */
  close(emit: Emit<AnswerEvent>): void;
  /** Whether a block has begun. */
  hasBlocks(): boolean;
}

/** What an emitter needs from the reader around it. */
export interface BlockEmitterOptions {
  /** The sealed part of the reasoning that is about to close. */
  takeSealed(): Sealed | undefined;
}

/** An emitter for one answer. */
export function createBlockEmitter(options: BlockEmitterOptions): BlockEmitter {
  let nextIndex = 0;
  /** Of all text so far, and where the open text begins in it. */
  let textLength = 0;
  let textStart = 0;
  let flat: { readonly kind: FlatKind; readonly index: number } | undefined;

  function begin(
    block: BlockHead,
    emit: Emit<AnswerEvent>,
  ): number | undefined {
    if (nextIndex >= MAX_BLOCKS) {
      emit(oversizedEvent("The provider's answer has too many parts"));
      return undefined;
    }
    const index = nextIndex++;
    emit({ type: "block-start", index, block });
    return index;
  }

  function close(emit: Emit<AnswerEvent>): void {
    if (flat === undefined) return;
    const { kind, index } = flat;
    flat = undefined;
    const sealed = kind === "reasoning" ? options.takeSealed() : undefined;
    if (sealed !== undefined) emit({ type: "block-seal", index, sealed });
    emit({ type: "block-end", index });
  }

  function open(head: BlockHead, emit: Emit<AnswerEvent>): number | undefined {
    close(emit);
    return begin(head, emit);
  }

  function flatIndex(
    kind: FlatKind,
    emit: Emit<AnswerEvent>,
  ): number | undefined {
    if (flat?.kind === kind) return flat.index;
    const index = open({ kind }, emit);
    if (index === undefined) return undefined;
    flat = { kind, index };
    if (kind === "text") textStart = textLength;
    if (kind === "reasoning") emit({ type: "block-part", index, form: "raw" });
    return index;
  }

  return {
    open,
    close,
    hasBlocks: () => nextIndex > 0,
    emitText(kind, text, emit) {
      if (typeof text !== "string" || text === "") return;
      const index = flatIndex(kind, emit);
      if (index === undefined) return;
      if (kind === "text") textLength += text.length;
      emit({ type: "block-delta", index, text });
    },
    cite(citation, emit) {
      const index = flatIndex("text", emit);
      if (index === undefined) return;
      const placed = within(citation, textStart);
      emit({ type: "block-citation", index, citation: placed });
    },
    give(head, emit) {
      const index = open(head, emit);
      if (index !== undefined) emit({ type: "block-end", index });
    },
    citeWhole(citations, emit) {
      if (flat?.kind !== "text") return;
      const { index } = flat;
      const place = { startIndex: 0, endIndex: textLength - textStart };
      for (const one of citations) {
        emit({ type: "block-citation", index, citation: { ...one, ...place } });
      }
    },
    giveSealed(sealed, emit) {
      const index = open({ kind: "reasoning" }, emit);
      if (index === undefined) return;
      emit({ type: "block-seal", index, sealed });
      emit({ type: "block-end", index });
    },
  };
}

/** A citation whose places count from the beginning of the message, as they count from `start` on; none before it. */
function within(citation: Citation, start: number): Citation {
  const { startIndex, endIndex } = citation;
  if (start === 0 || startIndex === undefined) return citation;
  return startIndex < start
    ? { ...citation, startIndex: undefined, endIndex: undefined }
    : {
      ...citation,
      startIndex: startIndex - start,
      endIndex: endIndex === undefined ? undefined : endIndex - start,
    };
}
