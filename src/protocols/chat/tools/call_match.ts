import { type CallDraft, type CallPiece, textOf } from "./call_draft.ts";

/** The calls of an answer so far. */
export interface CallsSoFar {
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
export function findDraft(
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
export function isTentative(
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
