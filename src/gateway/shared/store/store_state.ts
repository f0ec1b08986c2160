import type { Config, Connection } from "../../config/config.ts";
import type { Ids } from "@gateway/base/ids";
import { parseJson } from "@gateway/base/json";
import {
  createDeadlines,
  type Deadlines,
  wait,
  within,
} from "@gateway/base/time/deadlines";
import type { Clock, Timers } from "@gateway/base/time/timers";
import {
  fromPlain,
  isGood,
  type LastingReading,
  type Reading,
  type SharedReadings,
  toPlain,
} from "../../quotas/reading.ts";
import type { Log } from "../../observe/log.ts";
import { RemoteSums } from "../remote_sums.ts";
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
import findQuotaLua from "./find_quota.lua" with { type: "text" };
import publishQuotaLua from "./publish_quota.lua" with { type: "text" };

/** The state that a process shares with replicas through a store. */
export interface StoreState {
  readonly state: SharedState;
  /** Sends pending changes to the store, for a few seconds at most, and closes the connection. */
  close(): Promise<void>;
}

interface StoreStateOptions {
  readonly open: OpenStore;
  /** The prefix of every key. */
  readonly prefix: string;
  readonly config: () => Config;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly ids: Ids;
  /** The timeout of a call to the store, in milliseconds; default 40. */
  readonly waitMs?: number;
}

/**
 * The default timeout of a call to the store, in milliseconds. With this timeout and the work of this process, a
 * request is delayed by less than 50 milliseconds.
 */
const WAIT_MS = 40;

/** The time for which additions are gathered before they are sent, in milliseconds. */
const GATHER_MS = 100;

/** The longest time that `close()` waits for the store to accept pending changes, in milliseconds. */
const CLOSE_MS = 5000;

/** Connects a process to the store, without waiting for the connection. */
export function createStoreState(options: StoreStateOptions): StoreState {
  const { open, prefix, config, clock, log, waitMs = WAIT_MS } = options;
  const id = options.ids.next("replica");
  const deadlines = createDeadlines(options.timers);
  const probeKey = `${prefix}probe`;
  const scripts = [...LEDGER_SCRIPTS, ...READING_SCRIPTS];
  const link = createStoreLink({
    ...{ open, probeKey, deadlines, log, waitMs, scripts },
  });
  const sums = new RemoteSums({
    ...{ clock, deadlines, ids: options.ids },
    ledger: createStoreLedger({ link, prefix, clock }),
    gatherMs: GATHER_MS,
    waitMs,
  });
  const notices = createStoreNotices({ link, prefix, id, config, deadlines });
  const sharedReadings = createStoreReadings({
    ...{ link, prefix, id, deadlines, waitMs },
    onPublished: ({ id: connectionId }, { reading, ttlMs }) =>
      notices.publish({
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

/** The dependencies of the store's readings. */
interface StoreReadingsOptions {
  readonly link: StoreLink;
  /** The prefix of every key. */
  readonly prefix: string;
  /** The id of this process. */
  readonly id: string;
  readonly deadlines: Deadlines;
  /** The longest time that a read waits for the store, in milliseconds. */
  readonly waitMs: number;
  /** Called with each reading that was published for the replicas. */
  readonly onPublished: (connection: Connection, one: LastingReading) => void;
}

/**
 * The lifetime of a lock, in milliseconds. It is slightly longer than the longest time of GET /limits, because a read
 * takes at most that time.
 */
const LOCK_MS = 13_000;

/** The interval between two checks for another replica's reading, in milliseconds. */
const POLL_MS = 100;

/**
 * Finds a quota, or locks it for a read. If the script ran twice, the second run could leave a lock without a read, and
 * every reader would wait.
 */
const FIND_QUOTA: StoreScript = { lua: findQuotaLua, isOnce: true };
const PUBLISH_QUOTA: StoreScript = { lua: publishQuotaLua };

/** The scripts of readings. */
const READING_SCRIPTS: readonly StoreScript[] = [
  FIND_QUOTA,
  PUBLISH_QUOTA,
];

/** The store's reply to a reader. */
type Found = { readonly kind: "found"; readonly found: LastingReading } | {
  readonly kind: "read" | "wait";
};

const READ: Found = { kind: "read" };

/**
 * Creates shared readings. The replica that takes the lock of a quota reads the quota. The other replicas wait for the
 * result.
 */
function createStoreReadings(
  { link, prefix, id, deadlines, waitMs, onPublished }: StoreReadingsOptions,
): SharedReadings {
  function keysOf(connection: Connection): readonly string[] {
    const digest = connectionDigest(connection);
    return [`${prefix}quota:${digest}`, `${prefix}lock:${digest}`];
  }

  async function lookUp(connection: Connection): Promise<Found> {
    const keys = keysOf(connection);
    try {
      return parseFound(await link.run(FIND_QUOTA, keys, [id, LOCK_MS]));
    } catch {
      return READ;
    }
  }

  /**
   * Looks up a quota in the store. If the store is away or does not reply in time, this process must read the quota
   * itself.
   */
  async function lookUpInTime(connection: Connection): Promise<Found> {
    if (link.isAway) return READ;
    return await within(lookUp(connection), {
      ms: waitMs,
      start: deadlines.start,
      onLate: () => READ,
    });
  }

  return {
    async find(connection, signal) {
      for (;;) {
        const found = await lookUpInTime(connection);
        if (found.kind === "found") return found.found;
        if (found.kind === "read" || signal.aborted) return undefined;
        await wait(POLL_MS, { deadlines, signal }).catch(() => {});
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

/**
 * Returns true for a reading that other replicas can use. After a failure to reach the provider, returns false, because
 * other replicas may reach the provider.
 */
function isOfProvider(reading: Reading): boolean {
  return isGood(reading) || reading.failure.reason !== "unreachable";
}

function parseFound(reply: unknown): Found {
  if (!Array.isArray(reply)) return READ;
  const [kind, text, ttlMs] = reply;
  if (kind === "wait") return { kind };
  if (kind !== "found" || typeof text !== "string") return READ;
  const { success, data } = quotaSchema.safeParse(parseJson(text));
  if (!success) return READ;
  const reading = fromPlain(data.reading);
  return { kind, found: { reading, ttlMs: Math.max(0, Number(ttlMs)) } };
}
