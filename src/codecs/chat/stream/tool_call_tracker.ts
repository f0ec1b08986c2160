import type { Ids } from "@gateway/base/ids";
import type { JsonObject } from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import { isGoodEnd, type StopReason } from "../../canonical/answer/answer.ts";
import { MAX_BLOCKS } from "../../canonical/max_sizes.ts";
import {
  type AnswerEvent,
  type BlockHead,
  brokenEvent,
  NAMELESS_CALL,
} from "../../canonical/stream/event.ts";
import { type CallDelta, CallDraft, readPiece, textOf } from "./call_draft.ts";

/** Assembles the pieces of an answer's tool calls into blocks. */
export interface ToolCallTracker {
  /** Reads a chunk's `tool_calls`. If `areWhole` is true, each entry is a complete call, as in a JSON answer. */
  push(
    entries: readonly JsonObject[],
    areWhole: boolean,
    emit: Emit<AnswerEvent>,
  ): void;
  /**
   * Begins each call that has a name but no arguments, and closes every block. Fails the answer if pieces cannot be
   * assembled, or if a call has no name. A call without a name is ignored if the answer was cut off. It is also ignored
   * if the call is empty and there is other content.
   */
  finish(
    reason: StopReason,
    hasBlocks: boolean,
    emit: Emit<AnswerEvent>,
  ): void;
  /** The number of calls, begun or not. After `MAX_BLOCKS`, further calls are ignored. */
  readonly count: number;
  /** True when a call has become a block. */
  readonly hasBegun: boolean;
  /** The number of characters of arguments so far. */
  readonly held: number;
}

/** The dependencies of a tracker. */
interface ToolCallTrackerOptions {
  /** The source of ids for calls that have no id, or an id that another call already has. */
  readonly ids: Ids;
  /** Opens a block and returns its index, or `undefined` when there are too many blocks. */
  open(head: BlockHead, emit: Emit<AnswerEvent>): number | undefined;
}

/**
 * Creates a tracker for one answer. The block of a call begins when the first arguments arrive. Until then the name may
 * be incomplete, because some providers split or repeat names. Arguments that are an empty object may be a placeholder,
 * so they are held until more arguments arrive or the answer ends.
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
      this.#addPiece(known ?? this.#add(piece), piece, emit);
    }
  }

  finish(
    reason: StopReason,
    hasBlocks: boolean,
    emit: Emit<AnswerEvent>,
  ): void {
    const isAnswered = hasBlocks && reason !== "tool_calls";
    const isLost = ({ name, hasText, wireId }: CallDraft) =>
      name === "" &&
      (hasText || !this.hasBegun && (wireId !== "" || !isAnswered));
    if (isGoodEnd({ reason }) && this.#drafts.some(isLost)) {
      return emit(brokenEvent(NAMELESS_CALL));
    }
    for (const draft of inOrder(this.#drafts).filter(isCall)) {
      if (draft.isMixedUp) {
        return emit(brokenEvent("The provider mixed up its tool calls"));
      }
      if (draft.block === undefined) this.#begin(draft, emit);
      if (draft.isPlaceholder) emitText(draft, draft.text, emit);
      close(draft, emit);
    }
  }

  #soFar(): CallsSoFar {
    return { drafts: this.#drafts, current: this.#current, chunk: this.#chunk };
  }

  #add(piece: CallDelta): CallDraft {
    const draft = new CallDraft(piece.index, {
      chunk: this.#chunk,
      isTentative: isTentative(this.#soFar(), piece),
    });
    this.#drafts.push(draft);
    return draft;
  }

  #addPiece(draft: CallDraft, piece: CallDelta, emit: Emit<AnswerEvent>): void {
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
    if (isBegun && !draft.isPlaceholder) return emitText(draft, added, emit);
    if (!isBegun && draft.name !== "" && draft.hasText) {
      this.#beginUpTo(draft, emit);
    }
  }

  /** Begins a call and all calls before it, in order. Stops before the first call that is still incomplete. */
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
    if (!draft.isPlaceholder) emitText(draft, draft.text, emit);
  }

  /**
   * Returns a call's id for the caller. Some providers use one id for several calls, so only the first of them keeps
   * the id.
   */
  #idFor({ wireId }: CallDraft): string {
    const isTaken = wireId === "" ||
      this.#drafts.some(({ id }) => id === wireId);
    return isTaken ? this.#options.ids.next("call") : wireId;
  }
}

/** Returns true when enough of a draft has arrived to count as a call. */
function isCall({ name, hasText, isTentative }: CallDraft): boolean {
  return name !== "" && (hasText || !isTentative);
}

/** Sorts calls by their index in the list. If some calls have no index, keeps the order in which the calls arrived. */
function inOrder(drafts: readonly CallDraft[]): readonly CallDraft[] {
  const isIndexed = drafts.every(({ index }) => index !== undefined);
  return isIndexed
    ? drafts.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0))
    : drafts;
}

function emitText(
  draft: CallDraft,
  text: string,
  emit: Emit<AnswerEvent>,
): void {
  if (text === "" || draft.block === undefined) return;
  emit({ type: "block-delta", index: draft.block, text });
}

/** Closes a call's block. The signature is sent last, because it may arrive after the arguments. */
function close({ block, sealed }: CallDraft, emit: Emit<AnswerEvent>): void {
  if (block === undefined) return;
  if (sealed !== undefined) emit({ type: "block-seal", index: block, sealed });
  emit({ type: "block-end", index: block });
}

/** The calls of an answer so far. */
interface CallsSoFar {
  /** The calls in the order in which they began. */
  readonly drafts: readonly CallDraft[];
  /** The call that received the last piece. */
  readonly current: CallDraft | undefined;
  /** The number of the chunk. Two entries of one chunk never belong to the same call. */
  readonly chunk: number;
}

/**
 * Returns the call that a piece belongs to, or `undefined` when the piece begins another call. Neither ids nor indexes
 * are reliable. Some providers change the id between the chunks of a call (github.com/poolsideai/pool/issues/9). Some
 * give all calls index 0 (github.com/ollama/ollama/issues/15457) or no index, or increase the index with every chunk
 * (github.com/dirac-run/dirac/pull/215). In these cases, complete arguments show that the call has ended.
 */
function findDraft(calls: CallsSoFar, piece: CallDelta): CallDraft | undefined {
  const own = ownDraft(calls.drafts, piece);
  const base = own ?? placeOf(calls, piece);
  return base === undefined || beginsAnother(base, piece, calls.chunk)
    ? undefined
    : base;
}

/** Returns true when a piece may begin a call or repeat the current call's name. Only later arguments decide this. */
function isTentative({ current }: CallsSoFar, piece: CallDelta): boolean {
  return current !== undefined && !current.isCustom && current.isWhole &&
    current.name === piece.name && isBlank(piece);
}

/** Returns the call with the piece's id. If several calls have this id, prefers the call at the piece's index. */
function ownDraft(
  drafts: readonly CallDraft[],
  { id, index }: CallDelta,
): CallDraft | undefined {
  if (id === "") return undefined;
  const same = drafts.filter(({ wireId }) => wireId === id);
  return same.findLast((draft) => draft.index === index) ?? same.at(-1);
}

/**
 * Returns the call at the piece's index. If the piece has no index, or if the provider increases the index with every
 * piece, returns the current call.
 */
function placeOf(
  { drafts, current }: CallsSoFar,
  piece: CallDelta,
): CallDraft | undefined {
  const { index } = piece;
  if (index === undefined) return current;
  const there = drafts.findLast((draft) => draft.index === index);
  if (there !== undefined) return there;
  return current !== undefined && isStray(current, piece) ? current : undefined;
}

/** Returns true when a piece with a new index continues the current call. */
function isStray(current: CallDraft, piece: CallDelta): boolean {
  const isUnfinished = current.name !== "" && !current.isWhole;
  if (!isUnfinished || current.isCustom) return false;
  if (piece.name === "" && piece.id === "") return true;
  return !isBlank(piece) && !canBegin(piece) &&
    (piece.name === "" || piece.name === current.name);
}

/** Returns true when a piece that matches `draft` by its id or index begins another call. */
function beginsAnother(
  draft: CallDraft,
  piece: CallDelta,
  chunk: number,
): boolean {
  const { name } = piece;
  if (name === "") return false;
  const isSameId = piece.id !== "" && piece.id === draft.wireId;
  const isRenamed = name !== draft.name && draft.name !== "";
  const isElsewhere = piece.index !== undefined &&
    piece.index !== draft.index;
  if (isSameId && isElsewhere && (isRenamed || draft.chunk === chunk)) {
    return true;
  }
  if (draft.isCustom) return isOtherId(draft, piece) || isRenamed;
  if (!draft.hasText) {
    return isRenamed
      ? !isNamePiece(draft, piece)
      : piece.index === undefined && isOtherId(draft, piece);
  }
  if (!draft.isWhole) return isRenamed;
  return beginsAfter(draft, piece, { isSameId, isRenamed, chunk });
}

/** Returns true when a piece begins another call after a draft whose arguments are complete. */
function beginsAfter(
  draft: CallDraft,
  piece: CallDelta,
  { isSameId, isRenamed, chunk }: {
    readonly isSameId: boolean;
    readonly isRenamed: boolean;
    readonly chunk: number;
  },
): boolean {
  if (isRenamed) return true;
  if (isSameId && draft.isPlaceholder) return false;
  if (isBlank(piece)) return !isSameId;
  if (!draft.isRepeatedBy(piece.input)) return true;
  // A piece with the same arguments repeats the call, unless its id, index or chunk shows that it is another call.
  return !isSameId &&
    (isOtherId(draft, piece) || piece.index === undefined ||
      draft.chunk === chunk);
}

/** Returns true when the piece may continue the name: it has the draft's index and id. */
function isNamePiece(draft: CallDraft, piece: CallDelta): boolean {
  return piece.index !== undefined && !isOtherId(draft, piece);
}

function isOtherId({ wireId }: CallDraft, { id }: CallDelta): boolean {
  return id !== "" && wireId !== "" && id !== wireId;
}

function isBlank({ input }: CallDelta): boolean {
  return textOf(input).trim() === "";
}

/** Returns true when the piece can be the beginning of arguments. */
function canBegin({ input }: CallDelta): boolean {
  return textOf(input).trimStart().startsWith("{");
}
