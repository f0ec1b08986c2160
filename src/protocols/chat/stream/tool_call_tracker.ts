import type { Ids } from "../../../core/ids.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import { MAX_BLOCKS } from "../../canonical/max_sizes.ts";
import {
  type AnswerEvent,
  type BlockHead,
  brokenEvent,
} from "../../canonical/stream/event.ts";
import { CallDraft, type CallPiece, readPiece, textOf } from "./call_draft.ts";

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

/** The calls of an answer so far. */
interface CallsSoFar {
  /** In the order in which they began. */
  readonly drafts: readonly CallDraft[];
  /** The one that took the last piece. */
  readonly current: CallDraft | undefined;
  /** Counts the chunks; two entries of one chunk are never the same call twice. */
  readonly chunk: number;
}

/**
 * The call that a piece belongs to; `undefined` when it begins a new one. Neither ids nor indexes can be trusted
 * alone: providers change the id between the chunks of a call (github.com/poolsideai/pool/issues/9), give all calls
 * index 0 (github.com/ollama/ollama/issues/15457) or none, and count the index up with every chunk
 * (github.com/dirac-run/dirac/pull/215). What decides then is whether the arguments so far are whole.
 */
function findDraft(
  calls: CallsSoFar,
  piece: CallPiece,
): CallDraft | undefined {
  const own = ownDraft(calls.drafts, piece);
  const base = own ?? placeOf(calls, piece);
  return base === undefined || beginsAnother(base, piece, calls.chunk)
    ? undefined
    : base;
}

/**
 * Whether a piece that begins a new call may as well be the name of an earlier one, told again: only arguments
 * that follow can tell.
 */
function isTentative(
  { current }: CallsSoFar,
  piece: CallPiece,
): boolean {
  return current !== undefined && !current.isCustom && current.isWhole &&
    current.name === piece.name && isBlank(piece);
}

/** The call of the piece's own id, at its index if there is one. */
function ownDraft(
  drafts: readonly CallDraft[],
  { id, index }: CallPiece,
): CallDraft | undefined {
  if (id === "") return undefined;
  const same = drafts.filter(({ wireId }) => wireId === id);
  return same.findLast((draft) => draft.index === index) ?? same.at(-1);
}

/** The call at the piece's index; the current one where the index is missing, or counts pieces and not calls. */
function placeOf(
  { drafts, current }: CallsSoFar,
  piece: CallPiece,
): CallDraft | undefined {
  const { index } = piece;
  if (index === undefined) return current;
  const there = drafts.findLast((draft) => draft.index === index);
  if (there !== undefined) return there;
  return current !== undefined && isStray(current, piece) ? current : undefined;
}

/** Whether a piece at an index of its own goes on with the call that came before it. */
function isStray(current: CallDraft, piece: CallPiece): boolean {
  const isUnfinished = current.name !== "" && !current.isWhole;
  if (!isUnfinished || current.isCustom) return false;
  if (piece.name === "" && piece.id === "") return true;
  return !isBlank(piece) && !canBegin(piece) &&
    (piece.name === "" || piece.name === current.name);
}

/** Whether a piece that would belong to `draft` by its id or index begins another call. */
function beginsAnother(
  draft: CallDraft,
  piece: CallPiece,
  chunk: number,
): boolean {
  const { name } = piece;
  if (name === "") return false;
  const isSameId = piece.id !== "" && piece.id === draft.wireId;
  const isRenamed = name !== draft.name && draft.name !== "";
  const isElsewhere = piece.index !== undefined &&
    piece.index !== draft.index;
  if (isSameId && isElsewhere && isRenamed) return true;
  if (draft.isCustom) return isOtherId(draft, piece) || isRenamed;
  if (!draft.hasText) {
    return isRenamed
      ? !isNamePiece(draft, piece)
      : piece.index === undefined && isOtherId(draft, piece);
  }
  if (!draft.isWhole) return isRenamed;
  return beginsAfter(draft, piece, { isSameId, isRenamed, chunk });
}

/** The same for a draft whose arguments are whole. */
function beginsAfter(
  draft: CallDraft,
  piece: CallPiece,
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
  // Told again, unless something says that it is another call with the same arguments.
  return !isSameId &&
    (isOtherId(draft, piece) || piece.index === undefined ||
      draft.chunk === chunk);
}

/** Names come in pieces at one index, and under one id. */
function isNamePiece(draft: CallDraft, piece: CallPiece): boolean {
  return piece.index !== undefined && !isOtherId(draft, piece);
}

function isOtherId({ wireId }: CallDraft, { id }: CallPiece): boolean {
  return id !== "" && wireId !== "" && id !== wireId;
}

function isBlank({ input }: CallPiece): boolean {
  return textOf(input).trim() === "";
}

/** Whether arguments can begin with what the piece holds. */
function canBegin({ input }: CallPiece): boolean {
  return textOf(input).trimStart().startsWith("{");
}
