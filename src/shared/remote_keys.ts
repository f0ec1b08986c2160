import type { IdentityProvider } from "../config/config.ts";
import {
  type KeySet,
  type KeySets,
  type KeySource,
  NoKeys,
  sourceKey,
} from "../relay/identity/key_sets.ts";

/** A thread's question for the keys of an identity provider, as plain data. */
export interface KeysQuestion {
  readonly source: KeySource;
  /** The id of the keys that the thread has; `undefined` for none. */
  readonly knownId: number | undefined;
  /** True when a token names a key that is not among them. */
  readonly isRenewal: boolean;
}

/** The reply to a thread, as plain data. Only keys that the thread does not have are sent. */
export type KeysReply =
  | { readonly kind: "same" }
  | { readonly kind: "other"; readonly set: KeySet }
  | { readonly kind: "unread"; readonly retryAfterMs: number };

/** Answers a thread with the keys of the process. */
export async function answerKeysQuestion(
  { source, knownId, isRenewal }: KeysQuestion,
  keySets: KeySets,
): Promise<KeysReply> {
  try {
    const set = isRenewal && knownId !== undefined
      ? await keySets.renewed(source, { id: knownId })
      : await keySets.of(source);
    return set === undefined || set.id === knownId
      ? { kind: "same" }
      : { kind: "other", set };
  } catch (error) {
    if (!(error instanceof NoKeys)) throw error;
    return { kind: "unread", retryAfterMs: error.retryAfterMs };
  }
}

/**
 * Creates key sets that read nothing themselves. They ask the key sets of the process for every new token, so that a
 * reading, its age and its failure count for all threads.
 *
 * @param ask Asks the main thread; never rejects.
 */
export function createRemoteKeySets(
  ask: (question: KeysQuestion) => Promise<KeysReply>,
): KeySets {
  const known = new Map<string, KeySet>();

  async function find(
    source: KeySource,
    isRenewal: boolean,
  ): Promise<KeySet | undefined> {
    const key = sourceKey(source);
    const mine = known.get(key);
    const reply = await ask({ source, knownId: mine?.id, isRenewal });
    if (reply.kind === "unread") throw new NoKeys(reply.retryAfterMs);
    if (reply.kind === "same") return isRenewal ? undefined : mine;
    known.set(key, reply.set);
    return reply.set;
  }

  return {
    async of(source) {
      const set = await find(source, false);
      if (set === undefined) throw new Error("The reply has no keys");
      return set;
    },
    async renewed(source, seen) {
      const mine = known.get(sourceKey(source));
      // Another request of this thread has received newer keys meanwhile.
      if (mine !== undefined && mine.id !== seen.id) return mine;
      return await find(source, true);
    },
    retain(providers: readonly IdentityProvider[]) {
      const kept = new Set(providers.map(sourceKey));
      for (const key of known.keys()) {
        if (!kept.has(key)) known.delete(key);
      }
    },
  };
}
