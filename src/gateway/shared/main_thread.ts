import type { LiveConfig } from "../config/live_config.ts";
import type { Clock } from "@gateway/base/time/timers";
import { QuotaFailure } from "../quotas/failure.ts";
import type { Poller } from "../quotas/poller.ts";
import {
  fromPlain,
  type PlainReading,
  type SharedReadings,
  toPlain,
} from "../quotas/reading.ts";
import { readerOf } from "../quotas/readers/mod.ts";
import {
  type KeySet,
  type KeySets,
  type KeySource,
  NoKeys,
  sourceKey,
} from "../relay/identity/key_sets.ts";
import { HOLD_MS, type Sums } from "../usage/sums.ts";
import type { Ledger } from "./ledger.ts";

/**
 * The functions of the main thread that the other threads call. Each function takes one argument. Arguments and results
 * are plain data, because they are copied.
 */
interface MainThread extends Omit<Ledger, "isAway"> {
  /** Returns the quota of a connection from the connection's endpoint. Never rejects. */
  quota(connectionId: string): Promise<CopiedReading>;
  /** Returns the keys of an identity provider. */
  keys(question: KeysQuestion): Promise<CopiedKeys>;
}

/** The reading of a quota, and the remaining time for which the reading is valid, in milliseconds. */
interface CopiedReading {
  readonly reading: PlainReading;
  readonly ttlMs: number;
}

/** A question for the keys of an identity provider. */
interface KeysQuestion {
  readonly source: KeySource;
  /** The id of a key set that lacks the key of a token; `undefined` when any key set will do. */
  readonly seenId?: number | undefined;
}

/** The keys of an identity provider (`undefined` when there are no newer keys), or the time until the next reading. */
type CopiedKeys =
  | { readonly set: KeySet | undefined }
  | { readonly retryAfterMs: number };

/** The parts of the main thread that serve all threads. */
interface MainThreadParts {
  readonly sums: Sums;
  readonly poller: Poller;
  readonly keySets: KeySets;
  readonly liveConfig: LiveConfig;
  readonly clock: Pick<Clock, "now">;
}

/** Creates the functions of the main thread. They follow the current configuration. */
export function createMainThread(
  { sums, poller, keySets, liveConfig, clock }: MainThreadParts,
): MainThread {
  return {
    apply: (batch) => Promise.resolve(sums.apply(batch)),
    async reserve({ id, claims }) {
      const decision = id === ""
        ? { isGranted: false, uses: await sums.uses(claims) }
        : await sums.reserve(id, claims, HOLD_MS);
      return { ...decision, sinceMs: sums.sinceMs };
    },
    async table(name) {
      return { values: await sums.table(name), sinceMs: sums.sinceMs };
    },
    async once({ name, endsAtMs }) {
      return await sums.once(name, endsAtMs);
    },
    async quota(connectionId) {
      const { connections, limits } = liveConfig.current();
      const connection = connections.find(({ id }) => id === connectionId);
      const quota = connection?.quota;
      const poll = quota && readerOf(quota).poll;
      if (!connection || !quota || !poll) return replaced(clock.now());
      const source = { connection, quota };
      const { reading, ttlMs } = await poller.read(poll, { source, limits });
      return { reading: toPlain(reading), ttlMs };
    },
    async keys({ source, seenId }) {
      try {
        return {
          set: seenId === undefined
            ? await keySets.of(source)
            : await keySets.renewed(source, { id: seenId }),
        };
      } catch (error) {
        if (!(error instanceof NoKeys)) throw error;
        return { retryAfterMs: error.retryAfterMs };
      }
    },
  };
}

/** Returns the failure for a thread whose configuration differs from the main thread's. */
function replaced(checkedAtMs: number): CopiedReading {
  const failure = new QuotaFailure(
    "server",
    "The configuration of this connection has just changed. Try again.",
  );
  return { reading: toPlain({ checkedAtMs, failure }), ttlMs: 0 };
}

/** The argument or the result of the called function. */
type MessageData = MessageEvent["data"];

/** A call of a function of the main thread. */
export interface Call {
  /** The number of the call in its thread. */
  readonly id: number;
  readonly name: keyof MainThread;
  readonly argument: MessageData;
}

/** The reply to a call. */
export interface CallReply {
  readonly id: number;
  readonly value: MessageData;
}

/** Answers a call of a thread. */
export async function answerCall(
  main: MainThread,
  { id, name, argument }: Call,
): Promise<CallReply> {
  return { id, value: await main[name](argument) };
}

/** The main thread, as another thread calls it. */
interface MainThreadClient {
  readonly main: MainThread;
  /** Accepts the reply to a call. */
  take(reply: CallReply): void;
}

/** Creates functions that call the main thread. The calls need no timeout, because the main thread always answers. */
export function createMainThreadClient(
  send: (call: Call) => void,
): MainThreadClient {
  const waiting = new Map<number, (value: MessageData) => void>();
  let calls = 0;

  function calling<Name extends keyof MainThread>(name: Name) {
    return (argument: Parameters<MainThread[Name]>[0]) => {
      const id = ++calls;
      const { promise, resolve } = Promise.withResolvers<
        Awaited<ReturnType<MainThread[Name]>>
      >();
      waiting.set(id, resolve);
      send({ id, name, argument });
      return promise;
    };
  }

  return {
    main: {
      apply: calling("apply"),
      reserve: calling("reserve"),
      table: calling("table"),
      once: calling("once"),
      quota: calling("quota"),
      keys: calling("keys"),
    },
    take({ id, value }) {
      waiting.get(id)?.(value);
      waiting.delete(id);
    },
  };
}

/** Creates readings that come from the main thread, so that this thread reads no quota itself. */
export function createMainReadings(
  main: Pick<MainThread, "quota">,
): SharedReadings {
  return {
    async find({ id }) {
      const { reading, ttlMs } = await main.quota(id);
      return { reading: fromPlain(reading), ttlMs };
    },
    publish() {},
  };
}

/** Creates key sets that come from the main thread, so that all threads share each reading, its age and its failure. */
export function createMainKeySets(main: Pick<MainThread, "keys">): KeySets {
  /**
   * The latest key sets. An unchanged set stays the same object, because importing the keys of a new object is slow.
   */
  const known = new Map<string, KeySet>();

  async function find(question: KeysQuestion): Promise<KeySet | undefined> {
    const found = await main.keys(question);
    if ("retryAfterMs" in found) throw new NoKeys(found.retryAfterMs);
    const key = sourceKey(question.source);
    const mine = known.get(key);
    if (found.set === undefined || found.set.id === mine?.id) {
      return found.set && mine;
    }
    known.set(key, found.set);
    return found.set;
  }

  return {
    async of(source) {
      const set = await find({ source });
      if (set === undefined) throw new Error("The reply has no keys");
      return set;
    },
    renewed: (source, { id: seenId }) => find({ source, seenId }),
    retain(providers) {
      const kept = new Set(providers.map(sourceKey));
      for (const key of known.keys()) {
        if (!kept.has(key)) known.delete(key);
      }
    },
  };
}
