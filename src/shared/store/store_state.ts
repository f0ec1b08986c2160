import type { Config, Connection } from "../../config/config.ts";
import type { Ids } from "../../core/ids.ts";
import { parseJson } from "../../core/json.ts";
import {
  createDeadlines,
  type Deadlines,
  wait,
  within,
} from "../../core/time/deadlines.ts";
import type { Clock, Timers } from "../../core/time/timers.ts";
import {
  fromPlain,
  isGood,
  type LastingReading,
  type Reading,
  type SharedReadings,
  toPlain,
} from "../../quotas/reading.ts";
import type { Log } from "../../observe/log.ts";
import { createRemoteSums } from "../remote_sums.ts";
import type { SharedState } from "../shared_state.ts";
import { connectionDigest, quotaSchema } from "./wire.ts";
import { createStoreLedger, LEDGER_SCRIPTS } from "./store_ledger.ts";
import {
  createStoreLink,
  type OpenStore,
  type StoreLink,
  type StoreScript,
} from "./store_link.ts";
import { createStoreNotices } from "./store_notices.ts";

/** What a process has in common with replicas, by way of a store. */
export interface StoreState {
  readonly state: SharedState;
  /** Sends what the store does not have yet, for a few seconds at most, and ends the connection. */
  close(): Promise<void>;
}

/** What {@linkcode createStoreState} works with. */
interface StoreStateOptions {
  readonly open: OpenStore;
  /** Before every key. */
  readonly prefix: string;
  readonly config: () => Config;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly ids: Ids;
  /** How long whoever asks waits for the store, in milliseconds; default 40. */
  readonly waitMs?: number;
}

/** No request waits longer for the store, in milliseconds. With what the process itself needs it stays below 50. */
const WAIT_MS = 40;

/** Additions are gathered for so long before they are sent, in milliseconds. */
const GATHER_MS = 100;

/** How long an end waits for the store to take what it does not have yet, in milliseconds. */
const CLOSE_MS = 5000;

/** Connects a process with the store; nothing waits for that. */
export function createStoreState(options: StoreStateOptions): StoreState {
  const { open, prefix, config, clock, log, waitMs = WAIT_MS } = options;
  const id = options.ids.next("replica");
  const deadlines = createDeadlines(options.timers);
  const probeKey = `${prefix}probe`;
  const scripts = [...LEDGER_SCRIPTS, ...READING_SCRIPTS];
  const link = createStoreLink({
    ...{ open, probeKey, deadlines, log, waitMs, scripts },
  });
  const sums = createRemoteSums({
    ...{ clock, deadlines, ids: options.ids },
    ledger: createStoreLedger({ link, prefix, clock }),
    gatherMs: GATHER_MS,
    waitMs,
  });
  const notices = createStoreNotices({ link, prefix, id, config, deadlines });
  const sharedReadings = createStoreReadings({
    ...{ link, prefix, id, deadlines, waitMs },
    onPublished: ({ id: connectionId }, { reading, ttlMs }) =>
      notices.tell({
        ...{ kind: "polled", connectionId, ttlMs },
        reading: toPlain(reading),
      }),
  });
  link.onChange((isAway) => {
    if (!isAway) sums.resume();
  });

  async function settle(): Promise<void> {
    const untilMs = deadlines.elapsedMs() + CLOSE_MS;
    const { signal } = new AbortController();
    sums.resume();
    while (!sums.isSettled && deadlines.elapsedMs() < untilMs) {
      await wait(10, { deadlines, signal });
    }
  }

  return {
    state: {
      ...{ sums, notices, sharedReadings },
      store: () => link.isAway ? "away" : "connected",
    },
    async close() {
      await settle();
      sums.close();
      notices.close();
      link.close();
    },
  };
}

/** What {@linkcode createStoreReadings} works with. */
interface StoreReadingsOptions {
  readonly link: StoreLink;
  /** Before every key. */
  readonly prefix: string;
  /** Of this process, to be told from all others. */
  readonly id: string;
  readonly deadlines: Deadlines;
  /** How long a read waits for the store, in milliseconds. */
  readonly waitMs: number;
  /** Told of what was left for the others. */
  readonly onPublished: (connection: Connection, one: LastingReading) => void;
}

/** A read lasts no longer than the whole budget of GET /limits and a little. */
const LOCK_MS = 13_000;

/** So often one looks whether the replica that reads is done, in milliseconds. */
const LOOK_MS = 100;

/**
 * Asks for a quota that was read, or for the right to read it.
 *
 * Keys: the quota, the lock. Arguments: who asks, how long the lock lasts (milliseconds).
 *
 * @returns `["found", quota, milliseconds that it stands]`, `["read"]` or `["wait"]`.
 */
const FIND_QUOTA: StoreScript = {
  // Its lock would make every reader wait.
  isOnce: true,
  lua: `
local found = redis.call('GET', KEYS[1])
if found then return {'found', found, redis.call('PTTL', KEYS[1])} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'read'} end
return {'wait'}`,
};

/**
 * Leaves a quota for the others and gives the lock back.
 *
 * Keys: the quota, the lock. Arguments: who has the lock, the quota (empty: none), how long it stands (milliseconds).
 */
const PUBLISH_QUOTA: StoreScript = {
  lua: `
if ARGV[2] ~= '' then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 'OK'`,
};

/** The scripts of readings. */
const READING_SCRIPTS: readonly StoreScript[] = [
  FIND_QUOTA,
  PUBLISH_QUOTA,
];

/** What the store said. */
type Told = { readonly kind: "found"; readonly found: LastingReading } | {
  readonly kind: "read" | "wait";
};

const READ: Told = { kind: "read" };

/** Whoever sets the lock of a quota reads it, and the others wait for what it leaves. */
function createStoreReadings(
  { link, prefix, id, deadlines, waitMs, onPublished }: StoreReadingsOptions,
): SharedReadings {
  function keysOf(connection: Connection): readonly string[] {
    const digest = connectionDigest(connection);
    return [`${prefix}quota:${digest}`, `${prefix}lock:${digest}`];
  }

  async function ask(connection: Connection): Promise<Told> {
    const keys = keysOf(connection);
    try {
      return told(await link.run(FIND_QUOTA, keys, [id, LOCK_MS]));
    } catch {
      return READ;
    }
  }

  /** The store has no more than a moment. */
  async function askBriefly(connection: Connection): Promise<Told> {
    if (link.isAway) return READ;
    return await within(ask(connection), {
      ms: waitMs,
      start: deadlines.start,
      onLate: () => READ,
    });
  }

  return {
    async find(connection, signal) {
      for (;;) {
        const said = await askBriefly(connection);
        if (said.kind === "found") return said.found;
        if (said.kind === "read" || signal.aborted) return undefined;
        await wait(LOOK_MS, { deadlines, signal }).catch(() => {});
      }
    },
    publish(connection, lasting) {
      const { reading, ttlMs } = lasting;
      const isShared = isOfProvider(reading) && ttlMs >= 1;
      const text = isShared
        ? JSON.stringify({ reading: toPlain(reading) })
        : "";
      if (isShared) onPublished(connection, lasting);
      if (link.isAway) return;
      const args = [id, text, Math.max(1, Math.round(ttlMs))];
      link.run(PUBLISH_QUOTA, keysOf(connection), args).catch(() => {});
    },
  };
}

/** That a provider cannot be reached from here says nothing to the others. */
function isOfProvider(reading: Reading): boolean {
  return isGood(reading) || reading.failure.reason !== "unreachable";
}

function told(reply: unknown): Told {
  if (!Array.isArray(reply)) return READ;
  const [kind, text, ttlMs] = reply;
  if (kind === "wait") return { kind };
  if (kind !== "found" || typeof text !== "string") return READ;
  const { success, data } = quotaSchema.safeParse(parseJson(text));
  if (!success) return READ;
  const reading = fromPlain(data.reading);
  return { kind, found: { reading, ttlMs: Math.max(0, Number(ttlMs)) } };
}
