import type { Clock } from "../core/clock.ts";
import type { Thoughts } from "../protocols/canonical/thoughts.ts";

/** Whose answer is asked for. */
export interface SealOwner {
  /** SHA-256 of the caller's token: no caller is ever given another's reasoning. */
  readonly callerSha256: string;
  /** The tool call that the same answer made. */
  readonly callId: string;
}

/**
 * Keeps sealed reasoning and signatures between an answer with tool calls and the requests with their results, for
 * callers whose protocol or client cannot carry them.
 */
export interface SealStore {
  /** Keeps the thoughts of one answer to a caller under each of its tool calls. */
  keep(callerSha256: string, thoughts: Thoughts): void;
  /** What was kept for a tool call; `undefined` when there was none or it is gone. */
  recall(owner: SealOwner): Thoughts | undefined;
}

/** Bounds of a {@linkcode SealStore}. */
export interface SealStoreOptions {
  readonly clock: Clock;
  /** How long reasoning waits for its tool results, in milliseconds. */
  readonly ttlMs?: number;
  /** How much is kept in all, in characters; what is oldest goes first. */
  readonly maxCharacters?: number;
}

interface Kept {
  readonly thoughts: Thoughts;
  readonly keys: readonly string[];
  readonly characters: number;
  readonly expiresMs: number;
}

/** An empty store. */
export function createSealStore(options: SealStoreOptions): SealStore {
  const { clock } = options;
  const { ttlMs = 3_600_000, maxCharacters = 32 * 1024 * 1024 } = options;
  const byKey = new Map<string, Kept>();
  /** Oldest first, so both bounds drop from the front. */
  const inOrder = new Set<Kept>();
  let characters = 0;

  function drop(kept: Kept): void {
    if (!inOrder.delete(kept)) return;
    characters -= kept.characters;
    for (const key of kept.keys) {
      if (byKey.get(key) === kept) byKey.delete(key);
    }
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
      const keys = thoughts.callIds.map((callId) =>
        keyOf({ callerSha256, callId })
      );
      const kept = {
        thoughts,
        keys,
        characters: lengthOf(thoughts) + keys.join().length,
        expiresMs: clock.elapsedMs() + ttlMs,
      };
      for (const key of kept.keys) byKey.set(key, kept);
      inOrder.add(kept);
      characters += kept.characters;
      dropOld();
    },
    recall(owner) {
      dropOld();
      return byKey.get(keyOf(owner))?.thoughts;
    },
  };
}

function lengthOf({ blocks, calls }: Thoughts): number {
  return JSON.stringify([blocks, [...calls]]).length;
}

function keyOf({ callerSha256, callId }: SealOwner): string {
  return `${callerSha256} ${callId}`;
}
