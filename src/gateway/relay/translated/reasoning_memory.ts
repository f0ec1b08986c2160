import type { Clock } from "@gateway/base/time/timers";
import type { RememberedReasoning } from "@gateway/codecs";

/** The caller and the tool call that reasoning belongs to. */
interface SealOwner {
  /** The SHA-256 of the caller's token. No caller receives the reasoning of another caller. */
  readonly callerSha256: string;
  /** The tool call that the same answer made. */
  readonly callId: string;
}

/**
 * Keeps the sealed reasoning and signatures of an answer with tool calls until a request brings the results. This
 * serves callers whose protocol or client cannot send the reasoning back.
 */
export interface ReasoningMemory {
  /** Keeps the reasoning of an answer under each of its tool calls. */
  keep(callerSha256: string, reasoning: RememberedReasoning): void;
  /** Returns the tool calls of a caller that have reasoning. */
  known(callerSha256: string): ReadonlySet<string>;
  /**
   * Returns the reasoning of a tool call; `undefined` when the call had no reasoning or the reasoning has expired. Each
   * recall restarts the expiry, so a conversation keeps all of its reasoning, or loses all of it after a pause.
   */
  recall(owner: SealOwner): RememberedReasoning | undefined;
  /** Records the digests of sealed reasoning that a provider refused, so that this reasoning is not sent again. */
  refuse(callerSha256: string, digests: readonly string[]): void;
  /** Returns the digests of a caller's reasoning that was refused. */
  refused(callerSha256: string): ReadonlySet<string>;
}

interface ReasoningMemoryOptions {
  readonly clock: Clock;
  /** The time after which reasoning expires, in milliseconds. */
  readonly ttlMs?: number;
  /**
   * The maximum size of the memory, in characters. Beyond it, the caller with the most reasoning loses its oldest
   * reasoning. So no caller pushes out the reasoning of a caller that has less reasoning.
   */
  readonly maxCharacters?: number;
}

/** The reasoning of an answer under the ids of its calls, or refused reasoning under its digests. */
interface Kept {
  readonly owner: Owned;
  readonly keys: readonly string[];
  readonly reasoning?: RememberedReasoning;
  readonly characters: number;
  expiresMs: number;
}

/** The reasoning of one caller. */
interface Owned {
  readonly callerSha256: string;
  readonly calls: Map<string, Kept>;
  readonly refused: Map<string, Kept>;
  /** Oldest first. */
  readonly inOrder: Set<Kept>;
  characters: number;
}

/** Creates an empty memory. */
export function createReasoningMemory(
  options: ReasoningMemoryOptions,
): ReasoningMemory {
  const { clock } = options;
  const { ttlMs = 3_600_000, maxCharacters = 32 * 1024 * 1024 } = options;
  const owners = new Map<string, Owned>();
  /** Oldest first, so that expiry removes from the front. */
  const inOrder = new Set<Kept>();
  let characters = 0;

  function ownedBy(callerSha256: string): Owned {
    const known = owners.get(callerSha256);
    if (known !== undefined) return known;
    const owned = {
      callerSha256,
      calls: new Map(),
      refused: new Map(),
      inOrder: new Set<Kept>(),
      characters: 0,
    };
    owners.set(callerSha256, owned);
    return owned;
  }

  function add(
    callerSha256: string,
    { keys, reasoning }: Pick<Kept, "keys" | "reasoning">,
  ): void {
    const owner = ownedBy(callerSha256);
    const kept: Kept = {
      owner,
      keys,
      ...(reasoning === undefined ? {} : { reasoning }),
      characters: lengthOf(keys, reasoning),
      expiresMs: clock.elapsedMs() + ttlMs,
    };
    for (const key of keys) mapOf(kept).set(key, kept);
    inOrder.add(kept);
    owner.inOrder.add(kept);
    owner.characters += kept.characters;
    characters += kept.characters;
    dropExpired();
    while (characters > maxCharacters) {
      const [oldest] = largest(owner).inOrder;
      if (oldest !== undefined) drop(oldest);
    }
  }

  function drop(kept: Kept): void {
    const { owner, keys } = kept;
    inOrder.delete(kept);
    owner.inOrder.delete(kept);
    owner.characters -= kept.characters;
    characters -= kept.characters;
    const map = mapOf(kept);
    for (const key of keys) if (map.get(key) === kept) map.delete(key);
    if (owner.inOrder.size === 0) owners.delete(owner.callerSha256);
  }

  /**
   * Returns the caller with the most reasoning. A caller with more than half of the maximum is found without a search.
   */
  function largest(first: Owned): Owned {
    if (first.characters > maxCharacters / 2) return first;
    let most = first;
    for (const owner of owners.values()) {
      if (owner.characters > most.characters) most = owner;
    }
    return most;
  }

  function dropExpired(): void {
    const nowMs = clock.elapsedMs();
    for (const kept of inOrder) {
      if (kept.expiresMs > nowMs) return;
      drop(kept);
    }
  }

  return {
    keep(callerSha256, reasoning) {
      const keys = reasoning.pieces.flatMap((piece) =>
        piece.kind === "call" ? [piece.id] : []
      );
      add(callerSha256, { keys, reasoning });
    },
    known(callerSha256) {
      dropExpired();
      return new Set(owners.get(callerSha256)?.calls.keys());
    },
    recall({ callerSha256, callId }) {
      dropExpired();
      const kept = owners.get(callerSha256)?.calls.get(callId);
      if (kept === undefined) return undefined;
      kept.expiresMs = clock.elapsedMs() + ttlMs;
      for (const order of [inOrder, kept.owner.inOrder]) {
        order.delete(kept);
        order.add(kept);
      }
      return kept.reasoning;
    },
    refuse(callerSha256, digests) {
      if (digests.length > 0) add(callerSha256, { keys: digests });
    },
    refused(callerSha256) {
      dropExpired();
      return new Set(owners.get(callerSha256)?.refused.keys());
    },
  };
}

function mapOf({ owner, reasoning }: Kept): Map<string, Kept> {
  return reasoning === undefined ? owner.refused : owner.calls;
}

/** Returns the length of reasoning and its keys, in characters. Each key counts with the digest of the caller. */
function lengthOf(
  keys: readonly string[],
  reasoning: RememberedReasoning | undefined,
): number {
  return JSON.stringify(reasoning?.pieces ?? []).length +
    keys.reduce((sum, key) => sum + DIGEST_LENGTH + key.length, 0);
}

/** The length of a SHA-256 in hexadecimal. */
const DIGEST_LENGTH = 64;
