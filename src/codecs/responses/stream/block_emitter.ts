import type { Ids } from "@gateway/base/ids";
import type { JsonObject } from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import type {
  Citation,
  OpaqueBlock,
  ReasoningForm,
  TokenLogprob,
} from "../../canonical/content/block.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import { MAX_BLOCKS } from "../../canonical/max_sizes.ts";
import {
  type AnswerEvent,
  type BlockHead,
  oversizedEvent,
} from "../../canonical/stream/event.ts";

/** Numbers the blocks of one answer and keeps their events in order. */
export interface BlockEmitter {
  /**
   * Begins a block and returns its index. If there are too many blocks, ends the answer with a failure and returns -1.
   */
  open(head: BlockHead): number;
  /** Appends text, unless it is empty. */
  emitText(
    index: number,
    text: string,
    logprobs?: readonly TokenLogprob[] | undefined,
  ): void;
  /** Begins a part of reasoning. */
  part(index: number, form: ReasoningForm): void;
  cite(index: number, citation: Citation): void;
  seal(index: number, sealed: Sealed): void;
  close(index: number): void;
  /** Emits a complete block. */
  emitOpaque(block: OpaqueBlock): void;
  /** Returns true when a call of one of the caller's tools has begun. */
  hasCalls(): boolean;
  hasBlocks(): boolean;
}

/** Creates an emitter for one answer. */
export function createBlockEmitter(emit: Emit<AnswerEvent>): BlockEmitter {
  let nextIndex = 0;
  let parts = 0;
  let hasCalls = false;

  function failTooMany(): void {
    emit(oversizedEvent("The provider's answer has too many parts"));
  }

  function open(block: BlockHead): number {
    if (nextIndex >= MAX_BLOCKS) {
      failTooMany();
      return -1;
    }
    const index = nextIndex++;
    hasCalls ||= block.kind === "function_call" || block.kind === "custom_call";
    emit({ type: "block-start", index, block });
    return index;
  }

  function close(index: number): void {
    emit({ type: "block-end", index });
  }

  return {
    open,
    close,
    emitText(index, text, logprobs) {
      if (text === "") return;
      emit(
        logprobs === undefined
          ? { type: "block-delta", index, text }
          : { type: "block-delta", index, text, logprobs },
      );
    },
    part(index, form) {
      if (++parts > MAX_BLOCKS) failTooMany();
      else emit({ type: "block-part", index, form });
    },
    cite: (index, citation) =>
      emit({ type: "block-citation", index, citation }),
    seal: (index, sealed) => emit({ type: "block-seal", index, sealed }),
    emitOpaque(block) {
      close(open(block));
    },
    hasBlocks: () => nextIndex > 0,
    hasCalls: () => hasCalls,
  };
}

/** Reads one output item. Its content comes from its events, or only from the finished item. */
export interface ItemReader {
  /** Reads an event of the item, and ignores unknown types. */
  push(type: string, event: JsonObject): void;
  /**
   * Emits what the finished `item` adds to its events, then closes its blocks. Without `item`, only closes the blocks.
   */
  finish(item?: JsonObject): void;
}

/** The state that each reader of an item needs. */
export interface ReaderScope {
  readonly blocks: BlockEmitter;
  /** The source of ids for calls without an id. */
  readonly ids: Ids;
  /** Ends the answer with a failure that reports the fault. */
  fail(fault: string): void;
}
