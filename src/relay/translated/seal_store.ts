import type { Clock } from "../../core/time/clock.ts";
import type { Thoughts } from "../../protocols/canonical/answer/thoughts.ts";

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
  /** The tool calls of a caller for which something is kept. */
  known(callerSha256: string): ReadonlySet<string>;
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
  readonly callerSha256: string;
  readonly characters: number;
  readonly expiresMs: number;
}

/** An empty store. */
export function createSealStore(options: SealStoreOptions): SealStore {
  const { clock } = options;
  const { ttlMs = 3_600_000, maxCharacters = 32 * 1024 * 1024 } = options;
  /** By the caller, then by the call. */
  const byCaller = new Map<string, Map<string, Kept>>();
  /** Oldest first, so both bounds drop from the front. */
  const inOrder = new Set<Kept>();
  let characters = 0;

  function callsOf(callerSha256: string): Map<string, Kept> {
    const known = byCaller.get(callerSha256);
    if (known !== undefined) return known;
    const calls = new Map<string, Kept>();
    byCaller.set(callerSha256, calls);
    return calls;
  }

  function drop(kept: Kept): void {
    if (!inOrder.delete(kept)) return;
    characters -= kept.characters;
    const calls = callsOf(kept.callerSha256);
    for (const callId of kept.thoughts.callIds) {
      if (calls.get(callId) === kept) calls.delete(callId);
    }
    if (calls.size === 0) byCaller.delete(kept.callerSha256);
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
      const kept = {
        thoughts,
        callerSha256,
        characters: lengthOf(thoughts),
        expiresMs: clock.elapsedMs() + ttlMs,
      };
      const calls = callsOf(callerSha256);
      for (const callId of thoughts.callIds) calls.set(callId, kept);
      inOrder.add(kept);
      characters += kept.characters;
      dropOld();
    },
    known(callerSha256) {
      dropOld();
      return new Set(byCaller.get(callerSha256)?.keys());
    },
    recall({ callerSha256, callId }) {
      dropOld();
      return byCaller.get(callerSha256)?.get(callId)?.thoughts;
    },
  };
}

/** Each call is kept with its caller's digest, too. */
function lengthOf({ blocks, calls, callIds, messages }: Thoughts): number {
  return JSON.stringify([blocks, [...calls], messages]).length +
    callIds.reduce((sum, id) => sum + DIGEST_LENGTH + id.length, 0);
}

/** Of a SHA-256 in hexadecimal. */
const DIGEST_LENGTH = 64;
