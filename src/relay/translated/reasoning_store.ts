import type { Clock } from "../../core/time/timers.ts";
import {
  isToolCall,
  type MessageHead,
  type ReasoningPart,
} from "../../protocols/canonical/content/block.ts";
import type { Sealed } from "../../protocols/canonical/content/sealed.ts";
import {
  callIdsOf,
  type CallPiece,
  reasoningToRemember,
  type RememberedReasoning,
} from "../../protocols/canonical/answer/remembered_reasoning.ts";
import type { AnswerEvent } from "../../protocols/canonical/stream/event.ts";

/** Whose answer is asked for. */
interface SealOwner {
  /** SHA-256 of the caller's token: no caller is ever given another's reasoning. */
  readonly callerSha256: string;
  /** The tool call that the same answer made. */
  readonly callId: string;
}

/**
 * Keeps sealed reasoning and signatures between an answer with tool calls and the requests with their results, for
 * callers whose protocol or client cannot carry them.
 */
export interface ReasoningStore {
  /** Keeps the thoughts of one answer to a caller under each of its tool calls. */
  keep(callerSha256: string, thoughts: RememberedReasoning): void;
  /** Returns the tool calls of a caller for which something is kept. */
  known(callerSha256: string): ReadonlySet<string>;
  /**
   * Returns what is kept for a tool call; `undefined` when there was none or it is gone. What is recalled waits as long
   * again, so a conversation keeps all of its reasoning or, when it rests, loses all of it.
   */
  recall(owner: SealOwner): RememberedReasoning | undefined;
  /** Notes that a provider refused a caller's sealed reasoning, by its digests, so that it is not sent again. */
  refuse(callerSha256: string, digests: readonly string[]): void;
  /** Returns the digests of a caller's reasoning that was refused. */
  refused(callerSha256: string): ReadonlySet<string>;
}

/** Bounds of a {@linkcode ReasoningStore}. */
interface ReasoningStoreOptions {
  readonly clock: Clock;
  /** How long reasoning waits for its tool results, in milliseconds. */
  readonly ttlMs?: number;
  /** How much is kept in all, in characters; what is oldest goes first. */
  readonly maxCharacters?: number;
}

/** The thoughts of an answer under the ids of its calls, or refused reasoning under its digests. */
interface Kept {
  readonly owner: Owned;
  readonly keys: readonly string[];
  readonly thoughts?: RememberedReasoning;
  readonly characters: number;
  expiresMs: number;
}

/** What is kept of one caller. */
interface Owned {
  readonly callerSha256: string;
  readonly calls: Map<string, Kept>;
  readonly refused: Map<string, Kept>;
}

/** Creates an empty store. */
export function createReasoningStore(
  options: ReasoningStoreOptions,
): ReasoningStore {
  const { clock } = options;
  const { ttlMs = 3_600_000, maxCharacters = 32 * 1024 * 1024 } = options;
  const owners = new Map<string, Owned>();
  /** Oldest first, so both bounds drop from the front. */
  const inOrder = new Set<Kept>();
  let characters = 0;

  function ownedBy(callerSha256: string): Owned {
    const known = owners.get(callerSha256);
    if (known !== undefined) return known;
    const owned = { callerSha256, calls: new Map(), refused: new Map() };
    owners.set(callerSha256, owned);
    return owned;
  }

  function add(
    callerSha256: string,
    { keys, thoughts }: Pick<Kept, "keys" | "thoughts">,
  ): void {
    const owner = ownedBy(callerSha256);
    const kept: Kept = {
      owner,
      keys,
      ...(thoughts === undefined ? {} : { thoughts }),
      characters: lengthOf(keys, thoughts),
      expiresMs: clock.elapsedMs() + ttlMs,
    };
    for (const key of keys) mapOf(kept).set(key, kept);
    inOrder.add(kept);
    characters += kept.characters;
    dropOld();
  }

  function drop(kept: Kept): void {
    inOrder.delete(kept);
    characters -= kept.characters;
    const { owner: { callerSha256, calls, refused }, keys } = kept;
    const map = mapOf(kept);
    for (const key of keys) if (map.get(key) === kept) map.delete(key);
    if (calls.size + refused.size === 0) owners.delete(callerSha256);
  }

  function dropOld(): void {
    const nowMs = clock.elapsedMs();
    for (const kept of inOrder) {
      if (kept.expiresMs > nowMs && characters <= maxCharacters) return;
      drop(kept);
    }
  }

  return {
    keep(callerSha256, thoughts) {
      add(callerSha256, { keys: callIdsOf(thoughts), thoughts });
    },
    known(callerSha256) {
      dropOld();
      return new Set(owners.get(callerSha256)?.calls.keys());
    },
    recall({ callerSha256, callId }) {
      dropOld();
      const kept = owners.get(callerSha256)?.calls.get(callId);
      if (kept === undefined) return undefined;
      kept.expiresMs = clock.elapsedMs() + ttlMs;
      inOrder.delete(kept);
      inOrder.add(kept);
      return kept.thoughts;
    },
    refuse(callerSha256, digests) {
      if (digests.length > 0) add(callerSha256, { keys: digests });
    },
    refused(callerSha256) {
      dropOld();
      return new Set(owners.get(callerSha256)?.refused.keys());
    },
  };
}

function mapOf({ owner, thoughts }: Kept): Map<string, Kept> {
  return thoughts === undefined ? owner.refused : owner.calls;
}

/** Each key is kept with its caller's digest, too. */
function lengthOf(
  keys: readonly string[],
  thoughts: RememberedReasoning | undefined,
): number {
  return JSON.stringify(thoughts?.pieces ?? []).length +
    keys.reduce((sum, key) => sum + DIGEST_LENGTH + key.length, 0);
}

/** Of a SHA-256 in hexadecimal. */
const DIGEST_LENGTH = 64;

/** A reasoning block while its events come in. */
interface ReasoningDraft {
  readonly kind: "reasoning";
  readonly parts: { readonly form: ReasoningPart["form"]; text: string }[];
  sealed?: Sealed;
}

/** A text while its events come in. */
interface TextDraft {
  readonly kind: "text";
  length: number;
  readonly message: MessageHead | undefined;
}

/** A call; what it is called with does not matter here. */
type CallDraft = CallPiece & { sealed?: Sealed };

type Draft = ReasoningDraft | TextDraft | CallDraft;

/** Gathers what has to come back with the results of an answer's tool calls, from the answer's events. */
interface ReasoningWatch {
  see(event: AnswerEvent): void;
  /** Returns what has come so far; `undefined` when there is nothing to keep. */
  thoughts(): RememberedReasoning | undefined;
}

/**
 * Creates a watch for one answer.
 *
 * @param idFor How the caller will name a call, as a codec's `createAnswerIds` says.
 */
export function createReasoningWatch(
  idFor: (id: string) => string = (id) => id,
): ReasoningWatch {
  const drafts = new Map<number, Draft>();
  return {
    see(event) {
      if (event.type === "block-start") {
        const { block, index } = event;
        if (block.kind === "reasoning") {
          drafts.set(index, { kind: "reasoning", parts: [] });
        } else if (isToolCall(block)) {
          drafts.set(index, { kind: "call", id: idFor(block.id) });
        } else if (block.kind === "text") {
          const { message } = block;
          drafts.set(index, { kind: "text", length: 0, message });
        }
        return;
      }
      if (drafts.size === 0 || !("index" in event)) return;
      const draft = drafts.get(event.index);
      if (draft !== undefined) extend(draft, event);
    },
    thoughts: () => reasoningToRemember([...drafts.values()]),
  };
}

function extend(draft: Draft, event: AnswerEvent): void {
  if (draft.kind === "text") {
    if (event.type === "block-delta") draft.length += event.text.length;
    return;
  }
  if (event.type === "block-seal") draft.sealed = event.sealed;
  if (draft.kind !== "reasoning") return;
  const part = draft.parts.at(-1);
  if (event.type === "block-part") {
    draft.parts.push({ form: event.form, text: "" });
  } else if (event.type === "block-delta" && part !== undefined) {
    part.text += event.text;
  }
}
