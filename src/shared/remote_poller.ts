import type { Connection } from "../config/config.ts";
import type { ConfigStore } from "../config/store.ts";
import { TtlCache } from "../core/collections.ts";
import type { Clock } from "../core/time/timers.ts";
import { QuotaFailure } from "../quotas/failure.ts";
import {
  fromPlain,
  type PlainReading,
  type Reading,
  sourceKey,
  toPlain,
} from "../quotas/reading.ts";
import type { Poller } from "../quotas/poller.ts";
import { readerOf } from "../quotas/readers/mod.ts";

/** What a thread is told when it asks for a quota. */
export interface RemoteReading {
  readonly reading: PlainReading;
  readonly cached: boolean;
}

/** What a {@linkcode Poller} in a thread works with. */
interface RemotePollerOptions {
  readonly clock: Clock;
  /** Asks who reads for all threads, by the id of a connection; never rejects. */
  readonly ask: (connectionId: string) => Promise<RemoteReading>;
}

/** A poller that reads nothing itself: it asks the one who reads for all, and learns what that one tells everybody. */
export function createRemotePoller(
  { clock, ask }: RemotePollerOptions,
): Poller {
  const learnt = new TtlCache<string, Reading>(clock);
  const known = (connection: Connection) => learnt.get(sourceKey(connection));
  return {
    async read(_endpoint, { source }) {
      const { reading, cached } = await ask(source.connection.id);
      return { reading: fromPlain(reading), cached };
    },
    known,
    learn(connection, lasting) {
      learnt.set(sourceKey(connection), lasting.reading, lasting);
    },
    retain(connections) {
      learnt.retain(new Set(connections.map(sourceKey)));
    },
  };
}

/** Reads the quotas of connections for several threads. */
interface QuotaServer {
  /** What the endpoint of a connection tells; never rejects. */
  read(connectionId: string): Promise<RemoteReading>;
}

/** What a {@linkcode QuotaServer} works with. */
interface QuotaServerOptions {
  readonly store: ConfigStore;
  readonly poller: Poller;
  readonly clock: Pick<Clock, "now">;
}

/** Reads with a poller of its own, as the configuration in use says. */
export function createQuotaServer(
  { store, poller, clock }: QuotaServerOptions,
): QuotaServer {
  const retain = () => poller.retain(store.current().connections);
  retain();
  store.onSwap(retain);
  return {
    async read(connectionId) {
      const { connections, limits } = store.current();
      const connection = connections.find(({ id }) => id === connectionId);
      const quota = connection?.quota;
      const poll = quota && readerOf(quota).poll;
      if (!connection || !quota || !poll) return replaced(clock.now());
      const source = { connection, quota };
      const { reading, cached } = await poller.read(poll, { source, limits });
      return { reading: toPlain(reading), cached };
    },
  };
}

/** The thread that asks has another configuration yet. */
function replaced(checkedAtMs: number): RemoteReading {
  const failure = new QuotaFailure(
    "server",
    "The configuration of this connection has just changed: ask again",
  );
  const reading = toPlain({ checkedAtMs, failure });
  return { reading, cached: false };
}
