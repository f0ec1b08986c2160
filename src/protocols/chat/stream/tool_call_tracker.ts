import type { Ids } from "../../../core/ids.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import {
  type AnswerEvent,
  type BlockHead,
  brokenEvent,
} from "../../canonical/stream/event.ts";
import { MAX_BLOCKS } from "../../canonical/limits.ts";
import { CallDraft, type CallPiece, readPiece } from "../tools/call_draft.ts";
import {
  type CallsSoFar,
  findDraft,
  isTentative,
} from "../tools/call_match.ts";

/** Gathers the pieces of an answer's tool calls into blocks. */
export interface ToolCallTracker {
  /**
   * Takes the entries of one chunk's `tool_calls`.
   *
   * @param areWhole Whether every entry is a call of its own, as in an answer that is no stream.
   */
  push(
    entries: readonly JsonObject[],
    areWhole: boolean,
    emit: Emit<AnswerEvent>,
  ): void;
  /**
   * Starts what has a name but no arguments, and closes every block. Calls without a name are dropped; pieces that
   * cannot be put together are the answer's failure.
   */
  finish(emit: Emit<AnswerEvent>): void;
  /** How many calls there are, begun or not; past `MAX_BLOCKS` no more are taken. */
  readonly count: number;
  /** Whether there is a call that became a block. */
  readonly hasBegun: boolean;
  /** Characters of arguments so far. */
  readonly held: number;
}

/** What a tracker needs from the decoder around it. */
export interface ToolCallTrackerOptions {
  /** For calls that come without an id, or with one that is taken. */
  readonly ids: Ids;
  /** Opens a block and gives its index; `undefined` when there are too many. */
  open(head: BlockHead, emit: Emit<AnswerEvent>): number | undefined;
}

/**
 * A tracker for one answer. A block begins when the name is whole, that is with the first arguments, because names
 * come split or repeated; an empty object may be a placeholder and is held back until more or the end comes.
 */
export function createToolCallTracker(
  options: ToolCallTrackerOptions,
): ToolCallTracker {
  return new Tracker(options);
}

class Tracker implements ToolCallTracker {
  readonly #options: ToolCallTrackerOptions;
  readonly #drafts: CallDraft[] = [];
  #current: CallDraft | undefined;
  #chunk = 0;
  #held = 0;

  constructor(options: ToolCallTrackerOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#drafts.length;
  }

  get hasBegun(): boolean {
    return this.#drafts.some(({ block }) => block !== undefined);
  }

  get held(): number {
    return this.#held;
  }

  push(
    entries: readonly JsonObject[],
    areWhole: boolean,
    emit: Emit<AnswerEvent>,
  ): void {
    this.#chunk++;
    for (const entry of entries) {
      if (this.#drafts.length > MAX_BLOCKS) return;
      const piece = readPiece(entry);
      const known = areWhole ? undefined : findDraft(this.#soFar(), piece);
      this.#take(known ?? this.#add(piece), piece, emit);
    }
  }

  finish(emit: Emit<AnswerEvent>): void {
    for (const draft of inOrder(this.#drafts).filter(isCall)) {
      if (draft.isMixedUp) {
        return emit(brokenEvent("The provider mixed up its tool calls"));
      }
      if (draft.block === undefined) this.#begin(draft, emit);
      if (draft.isPlaceholder) give(draft, draft.text, emit);
      close(draft, emit);
    }
  }

  #soFar(): CallsSoFar {
    return {
      drafts: this.#drafts,
      current: this.#current,
      chunk: this.#chunk,
    };
  }

  #add(piece: CallPiece): CallDraft {
    const draft = new CallDraft(piece.index, {
      chunk: this.#chunk,
      isTentative: isTentative(this.#soFar(), piece),
    });
    this.#drafts.push(draft);
    return draft;
  }

  #take(draft: CallDraft, piece: CallPiece, emit: Emit<AnswerEvent>): void {
    this.#current = draft;
    draft.chunk = this.#chunk;
    if (draft.wireId === "") draft.wireId = piece.id;
    draft.isCustom ||= piece.isCustom;
    draft.sealed = piece.sealed ?? draft.sealed;
    const isBegun = draft.block !== undefined;
    if (!isBegun && piece.name !== draft.name) draft.name += piece.name;
    const before = draft.held;
    const added = draft.add(piece.input);
    this.#held += draft.held - before;
    if (isBegun && !draft.isPlaceholder) return give(draft, added, emit);
    if (!isBegun && draft.name !== "" && draft.hasText) {
      this.#beginUpTo(draft, emit);
    }
  }

  /** Begins a call after those before it, so that calls keep their order; while one of them has no name, none begins. */
  #beginUpTo(last: CallDraft, emit: Emit<AnswerEvent>): void {
    for (const draft of inOrder(this.#drafts)) {
      if (!isCall(draft)) return;
      if (draft.block === undefined) this.#begin(draft, emit);
      if (draft === last) return;
    }
  }

  #begin(draft: CallDraft, emit: Emit<AnswerEvent>): void {
    draft.id = this.#idFor(draft);
    const kind = draft.isCustom ? "custom_call" : "function_call";
    const { id, name } = draft;
    draft.block = this.#options.open({ kind, id, name }, emit);
    if (!draft.isPlaceholder) give(draft, draft.text, emit);
  }

  /** Some providers give several calls the same id, such as the name of the function. */
  #idFor({ wireId }: CallDraft): string {
    const isTaken = wireId === "" ||
      this.#drafts.some(({ id }) => id === wireId);
    return isTaken ? this.#options.ids.next("call") : wireId;
  }
}

/** Whether so much of a call has come that it is one. */
function isCall({ name, hasText, isTentative }: CallDraft): boolean {
  return name !== "" && (hasText || !isTentative);
}

/** The order of the indexes, which are places in the list of calls; that of the heads where some have none. */
function inOrder(drafts: readonly CallDraft[]): readonly CallDraft[] {
  const isIndexed = drafts.every(({ index }) => index !== undefined);
  return isIndexed
    ? drafts.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0))
    : drafts;
}

function give(draft: CallDraft, text: string, emit: Emit<AnswerEvent>): void {
  if (text === "" || draft.block === undefined) return;
  emit({ type: "block-delta", index: draft.block, text });
}

/** A signature may come behind the arguments, so it is given last. */
function close({ block, sealed }: CallDraft, emit: Emit<AnswerEvent>): void {
  if (block === undefined) return;
  if (sealed !== undefined) emit({ type: "block-seal", index: block, sealed });
  emit({ type: "block-end", index: block });
}
