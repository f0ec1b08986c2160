import type { Connection } from "../../config/config.ts";
import type { Deadlines } from "../../core/time/deadlines.ts";
import { parseJson } from "../../core/json.ts";
import { wait } from "../../core/time/wait.ts";
import { fromPlain, toPlain } from "../../limits/plain_reading.ts";
import { isGood, type Reading } from "../../limits/reading.ts";
import type {
  LastingReading,
  SharedReadings,
} from "../../limits/shared_readings.ts";
import { connectionDigest } from "./keys.ts";
import type { StoreLink, StoreScript } from "./store_link.ts";
import { quotaSchema } from "./wire.ts";

/** What {@linkcode createStoreReadings} works with. */
export interface StoreReadingsOptions {
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
export const READING_SCRIPTS: readonly StoreScript[] = [
  FIND_QUOTA,
  PUBLISH_QUOTA,
];

/** What the store said. */
type Told = { readonly kind: "found"; readonly found: LastingReading } | {
  readonly kind: "read" | "wait";
};

const READ: Told = { kind: "read" };

/** Whoever sets the lock of a quota reads it, and the others wait for what it leaves. */
export function createStoreReadings(
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
    const late = Promise.withResolvers<Told>();
    const takeBack = deadlines.start(waitMs, () => late.resolve(READ));
    const first = await Promise.race([ask(connection), late.promise]);
    takeBack();
    return first;
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
